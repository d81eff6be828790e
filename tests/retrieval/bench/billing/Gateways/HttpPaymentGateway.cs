using System.Net;
using System.Net.Http.Json;

namespace Billing.Gateways
{
    public class HttpPaymentGateway : IPaymentGateway
    {
        private const int MaxTries = 4;
        private readonly HttpClient _http;
        private readonly GatewayOptions _options;

        public HttpPaymentGateway(HttpClient http, GatewayOptions options)
        {
            _http = http;
            _options = options;
        }

        public Task<GatewayCharge> CaptureAsync(string token, decimal amount, string currency, string key) =>
            PostAsync<GatewayCharge>("v1/charges", new { token, amount, currency }, key);

        public Task<GatewayRefund> ReturnAsync(string reference, decimal amount) =>
            PostAsync<GatewayRefund>($"v1/charges/{reference}/refunds", new { amount }, $"refund-{reference}-{amount}");

        private async Task<T> PostAsync<T>(string path, object body, string idempotencyKey)
        {
            for (var attempt = 1; ; attempt++)
            {
                using var request = new HttpRequestMessage(HttpMethod.Post, path) { Content = JsonContent.Create(body) };
                request.Headers.Add("Idempotency-Key", idempotencyKey);
                request.Headers.Authorization = new("Bearer", _options.ApiKey);
                using var response = await _http.SendAsync(request);
                if (response.IsSuccessStatusCode || response.StatusCode == HttpStatusCode.PaymentRequired)
                {
                    return (await response.Content.ReadFromJsonAsync<T>())!;
                }
                if (attempt == MaxTries || (int)response.StatusCode < 500)
                {
                    throw new GatewayException(response.StatusCode);
                }
                await Task.Delay(TimeSpan.FromMilliseconds(200 * Math.Pow(2, attempt)));
            }
        }
    }
}
