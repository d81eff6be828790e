using Billing.Models;
using Billing.Storage;

namespace Billing.Jobs
{
    /// <summary>Runs every night: reminds customers of what they owe, and in the end blocks them.</summary>
    public class DunningJob : IScheduledJob
    {
        private static readonly int[] ReminderDays = { 3, 10, 21 };
        private const int SuspendAfterDays = 30;

        private readonly IInvoiceRepository _invoices;
        private readonly IMailer _mailer;
        private readonly ISubscriptionRepository _subscriptions;
        private readonly IClock _clock;

        public string Schedule => "15 2 * * *";

        public DunningJob(IInvoiceRepository invoices, IMailer mailer, ISubscriptionRepository subscriptions, IClock clock)
        {
            _invoices = invoices;
            _mailer = mailer;
            _subscriptions = subscriptions;
            _clock = clock;
        }

        public async Task RunAsync(CancellationToken cancellation)
        {
            await foreach (var invoice in _invoices.PastDueAsync(_clock.Today).WithCancellation(cancellation))
            {
                var days = _clock.Today.DayNumber - invoice.DueOn!.Value.DayNumber;
                invoice.Status = InvoiceStatus.Overdue;
                if (days >= SuspendAfterDays)
                {
                    await _subscriptions.SuspendForCustomerAsync(invoice.CustomerId);
                }
                else if (invoice.RemindersSent < ReminderDays.Length && days >= ReminderDays[invoice.RemindersSent])
                {
                    await _mailer.SendAsync("reminder", invoice.CustomerId, new { invoice.Number, days });
                    invoice.RemindersSent++;
                }
                await _invoices.UpdateAsync(invoice);
            }
        }
    }
}
