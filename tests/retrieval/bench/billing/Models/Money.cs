namespace Billing.Models
{
    /// <summary>An amount in one currency. Adding two currencies is a mistake, never a conversion.</summary>
    public readonly struct Money : IEquatable<Money>
    {
        public decimal Amount { get; }
        public string Currency { get; }

        public Money(decimal amount, string currency)
        {
            Amount = amount;
            Currency = currency;
        }

        public static Money operator +(Money left, Money right)
        {
            if (left.Currency != right.Currency)
            {
                throw new CurrencyMismatchException(left.Currency, right.Currency);
            }
            return new Money(left.Amount + right.Amount, left.Currency);
        }

        /// <summary>Half cents go to the even neighbour, so that many of them cancel out.</summary>
        public Money Rounded()
        {
            var digits = MinorUnits(Currency);
            return new Money(Math.Round(Amount, digits, MidpointRounding.ToEven), Currency);
        }

        private static int MinorUnits(string currency) => currency switch
        {
            "JPY" or "KRW" or "CLP" => 0,
            "BHD" or "KWD" or "TND" => 3,
            _ => 2,
        };

        public bool Equals(Money other) => Amount == other.Amount && Currency == other.Currency;
        public override bool Equals(object? obj) => obj is Money other && Equals(other);
        public override int GetHashCode() => HashCode.Combine(Amount, Currency);
    }
}
