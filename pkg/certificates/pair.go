// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// backdated is how long before its making a certificate begins to be valid: clocks are set differently.
const backdated = time.Hour

// pair is a serving certificate with its private key and the CA that signed it.
type pair struct {
	certificate, key []byte // in PEM
	ca               []byte // the certificate of the CA, in PEM
	tls              *tls.Certificate
}

// issue makes a CA and lets it sign one certificate. The key of the CA is discarded right after: a key that is not stored cannot be
// stolen, and each certificate gets a dedicated CA.
func issue(name string, hosts []string, validity time.Duration) (*pair, error) {
	now := time.Now()
	ca, leaf := template(now, now.Add(validity)), template(now, now.Add(validity))
	// Clients select the CA by its name, so names must be unique.
	ca.Subject.CommonName = fmt.Sprintf("%s CA %x", name, ca.SerialNumber.Bytes()[:8])
	ca.IsCA, ca.MaxPathLenZero, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	leaf.Subject.CommonName = name
	leaf.KeyUsage, leaf.ExtKeyUsage = x509.KeyUsageDigitalSignature, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	leaf.DNSNames, leaf.IPAddresses = byForm(hosts)
	by, err := sign(ca, nil)
	if err != nil {
		return nil, fmt.Errorf("make the CA of %s: %w", name, err)
	}
	signed, err := sign(leaf, by)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for %s: %w", name, err)
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(signed.key)
	if err != nil {
		return nil, fmt.Errorf("make a certificate for %s: %w", name, err)
	}
	return parsePair(signed.pem, keyPEM, by.pem)
}

// byForm divides hosts into DNS names and IP addresses.
func byForm(hosts []string) (names []string, addresses []net.IP) {
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			addresses = append(addresses, ip)
		} else {
			names = append(names, host)
		}
	}
	return names, addresses
}

func encode(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: der})
}

// parsePair checks that key and certificate belong together and that a CA of the bundle signed it. Whether it is valid by now is
// not checked. No error has any of the given data.
func parsePair(certificate, key, bundle []byte) (*pair, error) {
	loaded, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, errors.New("certificate and key do not make a pair")
	}
	if loaded.Leaf == nil {
		return nil, errors.New("the certificate cannot be read")
	}
	for _, ca := range split(bundle) {
		if loaded.Leaf.CheckSignatureFrom(ca) == nil {
			return &pair{certificate: certificate, key: key, ca: encode(ca.Raw), tls: &loaded}, nil
		}
	}
	return nil, errors.New("no CA of the bundle signed the certificate")
}

// equal reports whether two pairs have the same certificate.
func (p *pair) equal(other *pair) bool {
	return p != nil && other != nil && bytes.Equal(p.tls.Leaf.Raw, other.tls.Leaf.Raw)
}

// valid reports whether clients accept the certificate at a time.
func (p *pair) valid(now time.Time) bool {
	return p != nil && !now.Before(p.tls.Leaf.NotBefore) && now.Before(p.tls.Leaf.NotAfter)
}

func (p *pair) covers(hosts []string) bool {
	for _, host := range hosts {
		if p.tls.Leaf.VerifyHostname(host) != nil {
			return false
		}
	}
	return true
}

// managedLabel marks the Secrets that a Keeper or an Issuer made. They touch no other.
const managedLabel = "groundskeeper.io/self-managed-certificate"

// errForeign means that a Secret of another owner has the name of Groundskeeper's.
var errForeign = errors.New("it was not made by this server")

// Keys of the Secret, in addition to those of the type kubernetes.io/tls. It does not contain the key of a CA.
const (
	bundleKey          = "ca.crt"
	nextCertificateKey = "next.crt"
	nextPrivateKeyKey  = "next.key"
)

// state is what the Secret holds.
type state struct {
	// current is what all replicas serve.
	current *pair
	// next is what they will serve when every client trusts it; nil most of the time.
	next *pair
	// bundle has the CAs that clients trust, in PEM.
	bundle []byte
}

// decode reads a Secret. A Secret that cannot be used is an error; a next pair that cannot is as good as none.
func decode(secret *corev1.Secret) (*state, error) {
	current, err := parsePair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey], secret.Data[bundleKey])
	if err != nil {
		return nil, fmt.Errorf("secret %s/%s: %w", secret.Namespace, secret.Name, err)
	}
	// Normalised, so that what was edited manually is published the way Groundskeeper writes it.
	s := &state{current: current, bundle: join(split(secret.Data[bundleKey]))}
	if next, err := parsePair(secret.Data[nextCertificateKey], secret.Data[nextPrivateKeyKey], s.bundle); err == nil {
		s.next = next
	}
	return s, nil
}

// data returns the content of the Secret.
func (s *state) data() map[string][]byte {
	data := map[string][]byte{corev1.TLSCertKey: s.current.certificate, corev1.TLSPrivateKeyKey: s.current.key, bundleKey: s.bundle}
	if s.next != nil {
		data[nextCertificateKey], data[nextPrivateKeyKey] = s.next.certificate, s.next.key
	}
	return data
}

// store has the Secrets in which certificates are kept. Several replicas write them, without a leader.
type store struct {
	secrets   kubernetes.Interface
	namespace string
}

// get reads a Secret, nil when there is none. A Secret of another owner is an error, which names the remedy, and is returned with it.
func (s store) get(ctx context.Context, name, remedy string) (*corev1.Secret, error) {
	secret, err := s.secrets.CoreV1().Secrets(s.namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read secret %s/%s: %w", s.namespace, name, err)
	case secret.Labels[managedLabel] != "true":
		return secret, fmt.Errorf("secret %s/%s: %w: label it %s=true, %s", s.namespace, name, errForeign, managedLabel, remedy)
	}
	return secret, nil
}

// put writes a Secret that was read, nil for a new one, and reports whether it did. A conflict with another client is not an error: the
// next step reads again.
func (s store) put(ctx context.Context, name string, secret *corev1.Secret, data map[string][]byte) (wrote bool, err error) {
	secrets, isNew := s.secrets.CoreV1().Secrets(s.namespace), secret == nil
	if isNew {
		secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.namespace}, Type: corev1.SecretTypeTLS}
	}
	metav1.SetMetaDataLabel(&secret.ObjectMeta, "app.kubernetes.io/part-of", "groundskeeper")
	metav1.SetMetaDataLabel(&secret.ObjectMeta, managedLabel, "true")
	secret.Data = data
	if isNew {
		_, err = secrets.Create(ctx, secret, metav1.CreateOptions{FieldManager: fieldManager})
	} else {
		_, err = secrets.Update(ctx, secret, metav1.UpdateOptions{FieldManager: fieldManager})
	}
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsAlreadyExists(err), apierrors.IsConflict(err), !isNew && apierrors.IsNotFound(err): // it was deleted meanwhile
		return false, nil
	}
	return false, fmt.Errorf("write secret %s/%s: %w", s.namespace, name, err)
}
