//! TLS as the address demands it.

use std::fs;
use std::sync::Arc;

use runseal_store::store::{ServerFault, StoreError};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::{Address, Proof};

/// Creates the TLS connector for this address.
pub(crate) fn connector(address: &Address) -> Result<MakeRustlsConnect, StoreError> {
    let insecure = |source: Box<dyn std::error::Error + Send + Sync>| StoreError::Server {
        place: address.shown().to_owned(),
        fault: ServerFault::Insecure,
        problem: "cannot be reached securely",
        source,
    };
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| insecure(error.into()))?;
    let verifier: Arc<dyn ServerCertVerifier> = match address.proof {
        Proof::None => Arc::new(LenientVerifier::Nothing(provider)),
        Proof::Authority | Proof::Host => {
            let roots = roots(address).map_err(insecure)?;
            let strict =
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
            let strict = strict.build().map_err(|error| insecure(error.into()))?;
            match address.proof {
                Proof::Host => strict,
                _ => Arc::new(LenientVerifier::AnyHost(strict, provider)),
            }
        }
    };
    let config = builder
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// Reads the trusted root certificates: those of the file in the address, else the system's.
fn roots(address: &Address) -> Result<RootCertStore, Box<dyn std::error::Error + Send + Sync>> {
    let mut store = RootCertStore::empty();
    let Some(path) = &address.roots else {
        for certificate in rustls_native_certs::load_native_certs().certs {
            // Some of the system's certificates may be unreadable; the others are enough.
            let _ = store.add(certificate);
        }
        return Ok(store);
    };
    let bytes = fs::read(path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    for certificate in CertificateDer::pem_slice_iter(&bytes) {
        let certificate = certificate.map_err(|error| format!("`{}`: {error}", path.display()))?;
        store.add(certificate)?;
    }
    Ok(store)
}

/// Verifiers that demand less than a certificate from a known root for this host.
#[derive(Debug)]
enum LenientVerifier {
    /// Encrypts without any proof of identity: `sslmode=require` as libpq defines it.
    Nothing(Arc<CryptoProvider>),
    /// Demands a certificate from a known root, but for any host: `sslmode=verify-ca`.
    AnyHost(Arc<WebPkiServerVerifier>, Arc<CryptoProvider>),
}

impl LenientVerifier {
    fn algorithms(&self) -> &WebPkiSupportedAlgorithms {
        let (Self::Nothing(provider) | Self::AnyHost(_, provider)) = self;
        &provider.signature_verification_algorithms
    }
}

impl ServerCertVerifier for LenientVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Self::AnyHost(strict, _) = self else {
            return Ok(ServerCertVerified::assertion());
        };
        // The name is checked last: if only that is wrong, everything else is right.
        match strict.verify_server_cert(certificate, between, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, self.algorithms())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, self.algorithms())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms().supported_schemes()
    }
}
