//! The object that keeps the tools of an MCP server: one instance over one storage.

use std::rc::Rc;

use aptix_edge::entry::IsolateSettings;
use aptix_edge::mcp::McpListHost;
use aptix_edge::ports::ObjectClass;

use super::database::{Disk, SqliteDatabase};
use super::instance::Instance;
use super::object::FIRST_INSTANCE;
use super::platform::TestPlatform;
use super::world::World;

/// The object of one server and tenant.
pub struct McpListsObject {
    pub disk: Rc<Disk>,
    platform: TestPlatform,
    host: McpListHost<SqliteDatabase>,
}

impl McpListsObject {
    pub fn new(world: &Rc<World>, name: &str) -> Self {
        let number = FIRST_INSTANCE + world.executor.number();
        let instance = Instance::new(number, None, Rc::clone(&world.executor));
        let disk = Disk::new();
        let database = SqliteDatabase::new(Rc::clone(&disk), Rc::clone(&instance));
        let own = (ObjectClass::McpList, name);
        let platform = TestPlatform::new(Rc::clone(world), instance, own, Rc::default());
        Self { disk, platform, host: McpListHost::new(database) }
    }

    /// The reply to a session's question.
    pub async fn reply(&self, question: &str) -> String {
        let catalog = IsolateSettings::default().catalog(&self.platform).await;
        self.host.reply(&self.platform, catalog, question).await
    }
}
