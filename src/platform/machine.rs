//! What the machines of an object and of the Worker in front have in common.

/// Implements `ports::Machine` for a type with the deployment's bindings in `env`; `$log` writes a line.
macro_rules! machine {
    ($machine:ty, $log:expr) => {
        impl $crate::ports::Machine for $machine {
            fn now_ms(&self) -> u64 {
                $crate::platform::clock::now_ms()
            }

            fn secret(&self, name: &str) -> Option<String> {
                $crate::platform::variables::variable(&self.env, name)
            }

            async fn sleep(&self, ms: u64) {
                $crate::platform::clock::sleep(ms).await;
            }

            async fn ask_object(
                &self,
                name: &str,
                question: $crate::ports::ObjectQuestion,
                body: String,
            ) -> Result<String, $crate::ports::HttpFault> {
                $crate::platform::durable_object::ask_question(&self.env, name, question, body)
                    .await
            }

            fn log(&self, line: serde_json::Value) {
                ($log)(self, line);
            }
        }
    };
}

pub(super) use machine;
