using Billing.Models;
using Billing.Rules;
using Billing.Storage;

namespace Billing.Managers
{
    /// <summary>Creates, issues and voids invoices.</summary>
    public class InvoiceManager
    {
        private readonly IInvoiceRepository _invoices;
        private readonly INumberSequence _numbers;
        private readonly TaxCalculator _tax;
        private readonly IClock _clock;

        public InvoiceManager(IInvoiceRepository invoices, INumberSequence numbers, TaxCalculator tax, IClock clock)
        {
            _invoices = invoices;
            _numbers = numbers;
            _tax = tax;
            _clock = clock;
        }

        public async Task<Invoice> CreateDraftAsync(Customer customer, IEnumerable<LineItem> items)
        {
            var invoice = new Invoice
            {
                Id = Guid.NewGuid(),
                CustomerId = customer.Id,
                Currency = customer.Currency,
                Status = InvoiceStatus.Draft,
                Lines = items.ToList(),
            };
            invoice.Totals = _tax.Totals(invoice, customer.TaxRegion);
            await _invoices.AddAsync(invoice);
            return invoice;
        }

        // Numbers may have no gaps by law, so one is drawn only when nothing can fail any more.
        public async Task<Invoice> IssueAsync(Guid id)
        {
            var invoice = await _invoices.GetAsync(id) ?? throw new InvoiceNotFoundException(id);
            if (invoice.Status != InvoiceStatus.Draft)
            {
                throw new InvalidTransitionException(invoice.Status, InvoiceStatus.Issued);
            }
            if (invoice.Lines.Count == 0)
            {
                throw new EmptyInvoiceException(id);
            }
            invoice.Number = await _numbers.NextAsync("INV", _clock.Today.Year);
            invoice.IssuedOn = _clock.Today;
            invoice.DueOn = _clock.Today.AddDays(invoice.PaymentTermDays);
            invoice.Status = InvoiceStatus.Issued;
            await _invoices.UpdateAsync(invoice);
            return invoice;
        }

        public async Task<Invoice> VoidAsync(Guid id, string reason)
        {
            var invoice = await _invoices.GetAsync(id) ?? throw new InvoiceNotFoundException(id);
            if (invoice.Status == InvoiceStatus.Paid)
            {
                throw new InvalidTransitionException(invoice.Status, InvoiceStatus.Void);
            }
            invoice.Status = InvoiceStatus.Void;
            invoice.VoidReason = reason;
            await _invoices.UpdateAsync(invoice);
            return invoice;
        }
    }
}
