using Billing.Models;

namespace Billing.Rules
{
    public record Coupon(string Code, decimal Percent, DateOnly? ValidUntil, int? MaxRedemptions, int Redeemed);

    /// <summary>Price reductions: coupons first, then the scale for large quantities.</summary>
    public class DiscountRule
    {
        private static readonly (decimal From, decimal Percent)[] VolumeScale =
        {
            (1000m, 15m),
            (250m, 10m),
            (50m, 5m),
        };

        public decimal PercentFor(decimal quantity, Coupon? coupon, DateOnly today)
        {
            var scale = VolumeScale.FirstOrDefault(step => quantity >= step.From).Percent;
            var voucher = coupon is not null && IsRedeemable(coupon, today) ? coupon.Percent : 0m;
            return Math.Min(100m, scale + voucher);
        }

        public bool IsRedeemable(Coupon coupon, DateOnly today)
        {
            var expired = coupon.ValidUntil is { } end && today > end;
            var exhausted = coupon.MaxRedemptions is { } most && coupon.Redeemed >= most;
            return !expired && !exhausted;
        }
    }
}
