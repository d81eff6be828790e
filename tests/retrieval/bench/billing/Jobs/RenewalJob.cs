using Billing.Managers;
using Billing.Models;
using Billing.Storage;

namespace Billing.Jobs
{
    /// <summary>Runs every hour: bills the next period of subscriptions whose period has ended.</summary>
    public class RenewalJob : IScheduledJob
    {
        private const int BatchSize = 200;
        private readonly ISubscriptionRepository _subscriptions;
        private readonly IPlanRepository _plans;
        private readonly InvoiceManager _invoices;
        private readonly IDistributedLock _lock;

        public string Schedule => "5 * * * *";

        public RenewalJob(ISubscriptionRepository subscriptions, IPlanRepository plans, InvoiceManager invoices, IDistributedLock distributedLock)
        {
            _subscriptions = subscriptions;
            _plans = plans;
            _invoices = invoices;
            _lock = distributedLock;
        }

        public async Task RunAsync(CancellationToken cancellation)
        {
            // Two nodes wake at the same minute; only one of them may bill.
            await using var held = await _lock.TryAcquireAsync("renewals", TimeSpan.FromMinutes(50));
            if (held is null)
            {
                return;
            }
            foreach (var subscription in await _subscriptions.EndedAsync(BatchSize))
            {
                cancellation.ThrowIfCancellationRequested();
                await RenewAsync(subscription);
            }
        }

        private async Task RenewAsync(Subscription subscription)
        {
            if (subscription.CancelAtPeriodEnd)
            {
                subscription.State = SubscriptionState.Ended;
                await _subscriptions.UpdateAsync(subscription);
                return;
            }
            var plan = await _plans.GetAsync(subscription.PendingPlanId ?? subscription.PlanId);
            var customer = await _subscriptions.CustomerOfAsync(subscription);
            var invoice = await _invoices.CreateDraftAsync(customer, new[] { plan.AsLineItem() });
            await _invoices.IssueAsync(invoice.Id);
            subscription.PlanId = plan.Id;
            subscription.PendingPlanId = null;
            subscription.PeriodStart = subscription.PeriodEnd;
            subscription.PeriodEnd = plan.NextPeriodEnd(subscription.PeriodStart);
            await _subscriptions.UpdateAsync(subscription);
        }
    }
}
