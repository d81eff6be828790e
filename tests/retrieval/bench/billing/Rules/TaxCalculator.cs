using Billing.Models;

namespace Billing.Rules
{
    /// <summary>Value added tax by region and category.</summary>
    public class TaxCalculator
    {
        private readonly ITaxRateTable _rates;
        private readonly string _sellerRegion;

        public TaxCalculator(ITaxRateTable rates, string sellerRegion)
        {
            _rates = rates;
            _sellerRegion = sellerRegion;
        }

        public Totals Totals(Invoice invoice, string region)
        {
            // Tax is rounded once for each rate, not once for each line: the sums must agree with
            // the table that is printed below the lines.
            var groups = invoice.Lines.GroupBy(line => Rate(region, line.TaxCategory));
            decimal net = 0, tax = 0;
            foreach (var group in groups)
            {
                var sum = group.Sum(line => line.Net);
                net += sum;
                tax += new Money(sum * group.Key, invoice.Currency).Rounded().Amount;
            }
            return new Totals(net, tax, net + tax);
        }

        private decimal Rate(string region, string category)
        {
            return _rates.Find(region, category)
                ?? _rates.Find(region, "standard")
                ?? throw new UnknownTaxRegionException(region);
        }
    }
}
