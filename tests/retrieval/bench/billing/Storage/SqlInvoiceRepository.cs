using System.Data;
using Billing.Models;
using Dapper;

namespace Billing.Storage
{
    public class SqlInvoiceRepository : IInvoiceRepository
    {
        private readonly IDbConnection _connection;

        public SqlInvoiceRepository(IDbConnection connection)
        {
            _connection = connection;
        }

        public async Task<Invoice?> GetAsync(Guid id)
        {
            const string sql = "SELECT * FROM invoices WHERE id = @id; SELECT * FROM invoice_lines WHERE invoice_id = @id ORDER BY position";
            using var results = await _connection.QueryMultipleAsync(sql, new { id });
            var invoice = await results.ReadSingleOrDefaultAsync<Invoice>();
            if (invoice is not null)
            {
                invoice.Lines = (await results.ReadAsync<LineItem>()).ToList();
            }
            return invoice;
        }

        public async Task UpdateAsync(Invoice invoice)
        {
            // Whoever read an older version loses, instead of overwriting.
            const string sql = "UPDATE invoices SET status = @Status, number = @Number, version = version + 1 WHERE id = @Id AND version = @Version";
            var rows = await _connection.ExecuteAsync(sql, invoice);
            if (rows == 0)
            {
                throw new ConcurrencyException("invoice", invoice.Id);
            }
        }

        public async Task<Page<Invoice>> PageAsync(string? after, int size)
        {
            // Keyset instead of OFFSET: a page costs the same however deep it is.
            const string sql = "SELECT * FROM invoices WHERE (@after IS NULL OR id > @after) ORDER BY id LIMIT @size";
            var items = (await _connection.QueryAsync<Invoice>(sql, new { after, size })).ToList();
            return new Page<Invoice>(items, items.Count == size ? items[^1].Id.ToString() : null);
        }
    }
}
