namespace Billing.Models
{
    public class Customer
    {
        public Guid Id { get; set; }
        public string Name { get; set; } = "";
        public string Email { get; set; } = "";
        public string Currency { get; set; } = "EUR";
        public string TaxRegion { get; set; } = "DE";
        public string? VatNumber { get; set; }
        public Address BillingAddress { get; set; } = new();
        public bool RemindersAllowed { get; set; } = true;

        /// <summary>A business in another member state accounts for the tax itself.</summary>
        public bool IsReverseCharge(string sellerRegion) =>
            VatNumber is not null && TaxRegion != sellerRegion && EuropeanUnion.Contains(TaxRegion);

        private static readonly HashSet<string> EuropeanUnion = new()
        {
            "AT", "BE", "BG", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GR", "HR", "HU",
            "IE", "IT", "LT", "LU", "LV", "MT", "NL", "PL", "PT", "RO", "SE", "SI", "SK",
        };
    }

    public class Address
    {
        public string Street { get; set; } = "";
        public string PostalCode { get; set; } = "";
        public string City { get; set; } = "";
        public string Country { get; set; } = "";
    }
}
