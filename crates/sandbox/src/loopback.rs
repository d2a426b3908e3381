//! The one address that a command may reach: a port of the loopback interface.
//!
//! In namespaces the command has a loopback of its own, where nobody else lives. Process 1 makes the
//! listener there and hands it out before the command starts, so whoever accepts on it is outside
//! and the command reaches nothing but them. At weaker levels the loopback is the host's, and the
//! listener is the caller's own.

use std::net::TcpListener;
use std::sync::Arc;

/// A port on 127.0.0.1 that a command may connect to.
#[derive(Clone)]
pub struct Loopback {
    port: u16,
    take: Option<Arc<TakeListener>>,
}

type TakeListener = dyn Fn(TcpListener) + Send + Sync;

impl Loopback {
    /// A port of the command's own loopback, which only namespaces give. `take` gets the listener, on
    /// the thread that called [`crate::Sandbox::run`], before the command starts; it must not wait for
    /// clients.
    pub fn inside(port: u16, take: impl Fn(TcpListener) + Send + Sync + 'static) -> Self {
        Self {
            port,
            take: Some(Arc::new(take)),
        }
    }

    /// A port of the host's loopback that the caller listens on, for the levels without namespaces.
    pub fn on_host(port: u16) -> Self {
        Self { port, take: None }
    }

    /// The port that the command may connect to.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether it is a port of the command's own loopback.
    pub fn is_inside(&self) -> bool {
        self.take.is_some()
    }

    pub(crate) fn give(&self, listener: TcpListener) {
        if let Some(take) = &self.take {
            take(listener);
        }
    }
}

impl std::fmt::Debug for Loopback {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loopback")
            .field("port", &self.port)
            .field("is_inside", &self.is_inside())
            .finish()
    }
}
