//! The kernel of Durable Objects, over SQLite.

mod schema;
