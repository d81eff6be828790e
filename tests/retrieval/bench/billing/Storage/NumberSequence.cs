using System.Data;
using Dapper;

namespace Billing.Storage
{
    /// <summary>Consecutive document numbers, such as INV-2024-000123.</summary>
    public class NumberSequence : INumberSequence
    {
        private readonly IDbConnection _connection;

        public NumberSequence(IDbConnection connection) => _connection = connection;

        public async Task<string> NextAsync(string prefix, int year)
        {
            using var transaction = _connection.BeginTransaction(IsolationLevel.Serializable);
            const string sql = "UPDATE sequences SET value = value + 1 WHERE prefix = @prefix AND year = @year RETURNING value";
            var value = await _connection.ExecuteScalarAsync<long>(sql, new { prefix, year }, transaction);
            transaction.Commit();
            return $"{prefix}-{year}-{value:D6}";
        }
    }
}
