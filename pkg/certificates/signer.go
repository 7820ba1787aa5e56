// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/keyutil"
)

// caValidity is how long a CA is good whose key is kept.
const caValidity = 10 * 365 * 24 * time.Hour

// signer is a CA with its key.
type signer struct {
	certificate *x509.Certificate
	key         crypto.Signer
	pem         []byte // the certificate
}

// decodeSigner reads the Secret of a CA; no Secret is no CA. No error has any of what was read.
func decodeSigner(secret *corev1.Secret) (*signer, error) {
	if secret == nil {
		return nil, nil
	}
	loaded, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
	if err != nil || loaded.Leaf == nil {
		return nil, errors.New("certificate and key do not make a pair")
	}
	key, ok := loaded.PrivateKey.(crypto.Signer)
	if !ok || !loaded.Leaf.IsCA {
		return nil, errors.New("it is no CA")
	}
	return &signer{certificate: loaded.Leaf, key: key, pem: encode(loaded.Leaf.Raw)}, nil
}

// make makes what is to be written: the data of the Secret.
func (i *issuing) make(v issuance) (map[string][]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, NotBefore: v.now.Add(-backdated), NotAfter: v.now.Add(caValidity), BasicConstraintsValid: true,
		IsCA: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		// Clients select the CA by its name, so names must be unique.
		Subject: pkix.Name{CommonName: fmt.Sprintf("%s %x", i.secret, serial)},
	}
	parent, signs := template, crypto.Signer(key)
	if i.leaf != nil {
		template.Subject, template.NotAfter = pkix.Name{CommonName: i.leaf.CommonName}, v.end()
		template.IsCA, template.KeyUsage, template.ExtKeyUsage = false, x509.KeyUsageDigitalSignature, i.leaf.Usages
		template.DNSNames, template.IPAddresses = i.leaf.hosts()
		parent, signs = v.signer.certificate, v.signer.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signs)
	if err != nil {
		return nil, err
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	data := map[string][]byte{corev1.TLSCertKey: encode(der), corev1.TLSPrivateKeyKey: keyPEM, bundleKey: encode(der)}
	if i.leaf != nil {
		data[bundleKey] = v.signer.pem
	}
	return data, err
}
