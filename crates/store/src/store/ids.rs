//! The ids of the store's rows, each with its own type: a step's id cannot be used as a job's.
//!
//! Ours are derived from the plan, but a store made elsewhere may use any text, so these types
//! contain what is in the database and guarantee nothing about its form.

use std::fmt;

macro_rules! store_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub struct $name(Box<str>);

        impl $name {
            /// Makes the id with this text.
            pub fn new(text: impl Into<Box<str>>) -> Self {
                Self(text.into())
            }

            /// Returns the id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self::new(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        #[cfg(feature = "sqlite")]
        impl rusqlite::ToSql for $name {
            fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
                Ok(rusqlite::types::ToSqlOutput::from(&*self.0))
            }
        }

        #[cfg(feature = "sqlite")]
        impl rusqlite::types::FromSql for $name {
            fn column_result(
                value: rusqlite::types::ValueRef<'_>,
            ) -> rusqlite::types::FromSqlResult<Self> {
                value.as_str().map(Self::new)
            }
        }
    };
}

store_id!(/// The id of a message: a plan that was posted. Ours begin with `msg_`.
    MessageId);
store_id!(/// The id of a job. Ours begin with `job_`.
    JobId);
store_id!(/// The id of a step. Ours begin with `step_`, unless the plan names its own.
    StepId);
store_id!(/// The id of a receipt. Ours begin with `rcpt_`.
    ReceiptId);
store_id!(/// The run that a job belongs to, as its plan names it.
    JobRunId);
store_id!(/// The id of a queued task. Ours begin with `task_`.
    TaskId);
