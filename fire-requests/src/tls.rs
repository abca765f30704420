//! Which certificates are trusted. One configuration serves the measured path and the model list.

use std::{path::Path, sync::Arc};

use records::{Error, Result};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};

/// The configuration for these flags; `None` for a server without TLS, whose certificates nobody reads.
pub(crate) fn config(tls: bool, insecure: bool, cacert: Option<&Path>) -> Result<Arc<ClientConfig>> {
    let provider = Arc::new(ring::default_provider());
    let given = cacert.map(read_pem).transpose()?.unwrap_or_default();
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::usage(format!("TLS: {error}")))?;
    let inner = if insecure || !tls { None } else { Some(authorities(&given, &provider)?) };
    let trust = Trust { inner, given, provider };
    Ok(Arc::new(builder.dangerous().with_custom_certificate_verifier(Arc::new(trust)).with_no_client_auth()))
}

fn read_pem(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let unusable = |why: &str| Error::usage(format!("--cacert {}: {why}", path.display()));
    let read = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<std::result::Result<Vec<_>, _>>)
        .map_err(|error| unusable(&error.to_string()))?;
    if read.is_empty() { Err(unusable("no certificate in it; give a PEM file")) } else { Ok(read) }
}

fn authorities(
    given: &[CertificateDer<'static>],
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<WebPkiServerVerifier>> {
    let mut roots = RootCertStore::empty();
    let system = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(system.certs);
    roots.add_parsable_certificates(given.iter().cloned());
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build().map_err(|_| {
        let why = system.errors.first().map_or_else(|| "none found".to_owned(), ToString::to_string);
        Error::usage(format!("no system certificates ({why}); give --cacert FILE or --insecure"))
    })
}

/// Trusts the authorities, any certificate that was given itself, or with `--insecure` anything.
#[derive(Debug)]
struct Trust {
    inner: Option<Arc<WebPkiServerVerifier>>,
    given: Vec<CertificateDer<'static>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        let Some(inner) = &self.inner else { return Ok(ServerCertVerified::assertion()) };
        // A self-signed certificate marked as an authority (openssl's default) is no end entity to webpki.
        if self.given.contains(end_entity) {
            return Ok(ServerCertVerified::assertion());
        }
        inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// What to do about a failed handshake, if it is about the certificate.
pub(crate) fn remedy(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => "; use the name that the certificate is for, or give --insecure",
        rustls::Error::InvalidCertificate(_) => "; give --cacert FILE to trust it, or --insecure",
        rustls::Error::InvalidMessage(_) => "; does the server speak https?",
        _ => "",
    }
}
