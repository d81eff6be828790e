using Billing.Models;

namespace Billing.Rules
{
    /// <summary>What a change in the middle of a period costs.</summary>
    public class ProrationRule
    {
        public LineItem Difference(Subscription subscription, Plan from, Plan to, DateOnly today)
        {
            var whole = subscription.PeriodEnd.DayNumber - subscription.PeriodStart.DayNumber;
            var left = subscription.PeriodEnd.DayNumber - today.DayNumber;
            var share = whole == 0 ? 0m : (decimal)left / whole;
            var price = Math.Round((to.Price - from.Price) * share, 2);
            return new LineItem($"Change from {from.Name} to {to.Name}, {left} days", 1, price, "standard");
        }
    }
}
