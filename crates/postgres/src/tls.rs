//! TLS as the address asks for it.

use std::fs;
use std::sync::Arc;

use runseal_engine::store::{ServerFault, StoreError};
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

/// What makes connections secure for this address.
pub(crate) fn connector(address: &Address) -> Result<MakeRustlsConnect, StoreError> {
    let insecure = |source: Box<dyn std::error::Error + Send + Sync>| StoreError::Server {
        place: address.shown().to_owned(),
        fault: ServerFault::Insecure,
        problem: "cannot be spoken to securely",
        source,
    };
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| insecure(error.into()))?;
    let verifier: Arc<dyn ServerCertVerifier> = match address.proof {
        Proof::None => Arc::new(LessProof::Nothing(provider)),
        Proof::Authority | Proof::Host => {
            let roots = roots(address).map_err(insecure)?;
            let strict =
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
            let strict = strict.build().map_err(|error| insecure(error.into()))?;
            match address.proof {
                Proof::Host => strict,
                _ => Arc::new(LessProof::AnyHost(strict, provider)),
            }
        }
    };
    let config = builder
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

/// The certificates that count: those of the file that the address names, else the system's.
fn roots(address: &Address) -> Result<RootCertStore, Box<dyn std::error::Error + Send + Sync>> {
    let mut store = RootCertStore::empty();
    let Some(path) = &address.roots else {
        for certificate in rustls_native_certs::load_native_certs().certs {
            // The system's store may hold some that we cannot read; the others count.
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

/// What is less than a certificate of a known root for this very host.
#[derive(Debug)]
enum LessProof {
    /// Encrypts and asks for no proof: what `sslmode=require` means to libpq.
    Nothing(Arc<CryptoProvider>),
    /// A certificate of a known root, whatever host it is for: `sslmode=verify-ca`.
    AnyHost(Arc<WebPkiServerVerifier>, Arc<CryptoProvider>),
}

impl LessProof {
    fn algorithms(&self) -> &WebPkiSupportedAlgorithms {
        let (Self::Nothing(provider) | Self::AnyHost(_, provider)) = self;
        &provider.signature_verification_algorithms
    }
}

impl ServerCertVerifier for LessProof {
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
        // The name is looked at last: where it is all that is wrong, the rest is right.
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
