using System.Security.Cryptography;
using System.Text;
using Billing.Gateways;
using Billing.Storage;
using Microsoft.AspNetCore.Mvc;

namespace Billing.Api
{
    [ApiController]
    [Route("webhooks/gateway")]
    public class WebhookController : ControllerBase
    {
        private static readonly TimeSpan Tolerance = TimeSpan.FromMinutes(5);
        private readonly GatewayOptions _options;
        private readonly IEventInbox _inbox;
        private readonly IClock _clock;

        public WebhookController(GatewayOptions options, IEventInbox inbox, IClock clock)
        {
            _options = options;
            _inbox = inbox;
            _clock = clock;
        }

        [HttpPost]
        public async Task<IActionResult> Receive()
        {
            using var reader = new StreamReader(Request.Body, Encoding.UTF8);
            var body = await reader.ReadToEndAsync();
            if (!IsAuthentic(body, Request.Headers["X-Gateway-Signature"], Request.Headers["X-Gateway-Timestamp"]))
            {
                return Unauthorized();
            }
            // The sender repeats what was not acknowledged in time, so a second one is no error.
            var gatewayEvent = GatewayEvent.Parse(body);
            await _inbox.AddOnceAsync(gatewayEvent.Id, gatewayEvent.Kind, body);
            return Ok();
        }

        private bool IsAuthentic(string body, string? signature, string? timestamp)
        {
            if (signature is null || !long.TryParse(timestamp, out var seconds))
            {
                return false;
            }
            var age = _clock.UtcNow - DateTimeOffset.FromUnixTimeSeconds(seconds);
            if (age.Duration() > Tolerance)
            {
                return false;
            }
            using var hmac = new HMACSHA256(Encoding.UTF8.GetBytes(_options.SigningSecret));
            var expected = hmac.ComputeHash(Encoding.UTF8.GetBytes($"{timestamp}.{body}"));
            return CryptographicOperations.FixedTimeEquals(expected, Convert.FromHexString(signature));
        }
    }
}
