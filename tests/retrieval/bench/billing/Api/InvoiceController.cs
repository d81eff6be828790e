using Billing.Managers;
using Billing.Storage;
using Microsoft.AspNetCore.Mvc;

namespace Billing.Api
{
    [ApiController]
    [Route("api/invoices")]
    public class InvoiceController : ControllerBase
    {
        private readonly InvoiceManager _manager;
        private readonly IInvoiceRepository _invoices;
        private readonly PdfRenderer _pdf;

        public InvoiceController(InvoiceManager manager, IInvoiceRepository invoices, PdfRenderer pdf)
        {
            _manager = manager;
            _invoices = invoices;
            _pdf = pdf;
        }

        [HttpGet("{id}")]
        public async Task<ActionResult<InvoiceView>> Get(Guid id)
        {
            var invoice = await _invoices.GetAsync(id);
            return invoice is null ? NotFound() : InvoiceView.From(invoice);
        }

        [HttpGet]
        public async Task<PageView<InvoiceView>> List([FromQuery] string? after, [FromQuery] int size = 50)
        {
            var page = await _invoices.PageAsync(after, Math.Clamp(size, 1, 200));
            return new PageView<InvoiceView>(page.Items.Select(InvoiceView.From), page.Next);
        }

        [HttpPost("{id}/issue")]
        public async Task<InvoiceView> Issue(Guid id) => InvoiceView.From(await _manager.IssueAsync(id));

        [HttpPost("{id}/void")]
        public async Task<InvoiceView> Void(Guid id, VoidRequest request) =>
            InvoiceView.From(await _manager.VoidAsync(id, request.Reason));

        [HttpGet("{id}/pdf")]
        public async Task<IActionResult> Download(Guid id)
        {
            var invoice = await _invoices.GetAsync(id);
            if (invoice is null)
            {
                return NotFound();
            }
            var bytes = await _pdf.RenderAsync(invoice);
            return File(bytes, "application/pdf", $"{invoice.Number}.pdf");
        }
    }
}
