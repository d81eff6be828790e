using Billing.Models;
using Billing.Rules;
using Billing.Storage;

namespace Billing.Managers
{
    /// <summary>Starts, changes and ends subscriptions.</summary>
    public class SubscriptionManager
    {
        private readonly ISubscriptionRepository _subscriptions;
        private readonly ProrationRule _proration;
        private readonly IClock _clock;

        public SubscriptionManager(ISubscriptionRepository subscriptions, ProrationRule proration, IClock clock)
        {
            _subscriptions = subscriptions;
            _proration = proration;
            _clock = clock;
        }

        public async Task<Subscription> StartAsync(Customer customer, Plan plan, int trialDays)
        {
            var subscription = new Subscription
            {
                CustomerId = customer.Id,
                PlanId = plan.Id,
                State = trialDays > 0 ? SubscriptionState.Trial : SubscriptionState.Active,
                PeriodStart = _clock.Today,
                PeriodEnd = trialDays > 0 ? _clock.Today.AddDays(trialDays) : plan.NextPeriodEnd(_clock.Today),
            };
            await _subscriptions.AddAsync(subscription);
            return subscription;
        }

        /// <summary>An upgrade counts at once, a downgrade at the end of the period.</summary>
        public async Task<LineItem?> ChangePlanAsync(Subscription subscription, Plan from, Plan to)
        {
            if (to.Price < from.Price)
            {
                subscription.PendingPlanId = to.Id;
                await _subscriptions.UpdateAsync(subscription);
                return null;
            }
            var difference = _proration.Difference(subscription, from, to, _clock.Today);
            subscription.PlanId = to.Id;
            await _subscriptions.UpdateAsync(subscription);
            return difference;
        }

        public async Task CancelAsync(Subscription subscription, bool immediately)
        {
            if (immediately)
            {
                subscription.State = SubscriptionState.Ended;
                subscription.PeriodEnd = _clock.Today;
            }
            else
            {
                subscription.CancelAtPeriodEnd = true;
            }
            await _subscriptions.UpdateAsync(subscription);
        }
    }
}
