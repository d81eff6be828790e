namespace Billing.Models
{
    public enum InvoiceStatus { Draft, Issued, Paid, Overdue, Void }

    public class Invoice
    {
        public Guid Id { get; set; }
        public string? Number { get; set; }
        public Guid CustomerId { get; set; }
        public string Currency { get; set; } = "EUR";
        public InvoiceStatus Status { get; set; }
        public List<LineItem> Lines { get; set; } = new();
        public Totals Totals { get; set; } = Totals.Zero;
        public DateOnly? IssuedOn { get; set; }
        public DateOnly? DueOn { get; set; }
        public int PaymentTermDays { get; set; } = 14;
        public int Attempts { get; set; }
        public string? LastFailure { get; set; }
        public string? VoidReason { get; set; }
        public int RemindersSent { get; set; }
    }

    public record LineItem(string Description, decimal Quantity, decimal UnitPrice, string TaxCategory)
    {
        public decimal Net => Quantity * UnitPrice;
    }

    public record Totals(decimal Net, decimal Tax, decimal Gross)
    {
        public static readonly Totals Zero = new(0, 0, 0);
    }
}
