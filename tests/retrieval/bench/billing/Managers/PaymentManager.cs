using Billing.Gateways;
using Billing.Models;
using Billing.Storage;

namespace Billing.Managers
{
    /// <summary>Takes money for invoices and gives it back.</summary>
    public class PaymentManager
    {
        private readonly IPaymentGateway _gateway;
        private readonly IPaymentRepository _payments;
        private readonly IInvoiceRepository _invoices;

        public PaymentManager(IPaymentGateway gateway, IPaymentRepository payments, IInvoiceRepository invoices)
        {
            _gateway = gateway;
            _payments = payments;
            _invoices = invoices;
        }

        public async Task<Payment> ChargeAsync(Invoice invoice, PaymentMethod method)
        {
            // The gateway answers the same key with the same charge, so a retry cannot bill twice.
            var key = $"charge-{invoice.Id}-{invoice.Attempts}";
            var charge = await _gateway.CaptureAsync(method.Token, invoice.Totals.Gross, invoice.Currency, key);
            var payment = new Payment(invoice.Id, charge.Reference, charge.Amount, PaymentKind.Charge);
            await _payments.AddAsync(payment);
            if (charge.Succeeded)
            {
                invoice.Status = InvoiceStatus.Paid;
            }
            else
            {
                invoice.Attempts++;
                invoice.LastFailure = charge.DeclineCode;
            }
            await _invoices.UpdateAsync(invoice);
            return payment;
        }

        public async Task<Payment> RefundAsync(Guid paymentId, decimal amount)
        {
            var original = await _payments.GetAsync(paymentId);
            var returned = await _payments.SumOfRefundsAsync(paymentId);
            if (returned + amount > original.Amount)
            {
                throw new RefundTooLargeException(original.Amount - returned);
            }
            var refund = await _gateway.ReturnAsync(original.Reference, amount);
            var payment = new Payment(original.InvoiceId, refund.Reference, -amount, PaymentKind.Refund);
            await _payments.AddAsync(payment);
            return payment;
        }
    }
}
