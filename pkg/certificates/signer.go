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
	"errors"
	"fmt"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/keyutil"
)

// caValidity is how long a CA is good whose key is kept.
const caValidity = 10 * 365 * 24 * time.Hour

// signer is a certificate with its key: a CA, or what one signed.
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

// template returns what all certificates have, with a random serial number.
func template(now, end time.Time) *x509.Certificate {
	serial := make([]byte, 16)
	_, _ = rand.Read(serial)          // never fails
	serial[0] = 0x40 | serial[0]&0x3f // positive, and of the same length
	return &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial), NotBefore: now.Add(-backdated), NotAfter: end, BasicConstraintsValid: true,
	}
}

// sign makes a key, and a certificate for it that the CA signs. Without a CA it signs itself.
func sign(template *x509.Certificate, ca *signer) (*signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	parent, by := template, crypto.Signer(key)
	if ca != nil {
		parent, by = ca.certificate, ca.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	if err != nil {
		return nil, err
	}
	// Unlike the template, it has the key id that what it signs is to name.
	certificate, err := x509.ParseCertificate(der)
	return &signer{certificate: certificate, key: key, pem: encode(der)}, err
}

// make makes what is to be written: the data of the Secret.
func (i *issuing) make(v issuance) (map[string][]byte, error) {
	made, ca := template(v.now, v.now.Add(caValidity)), v.signer
	if i.leaf == nil {
		ca = nil
		made.IsCA, made.KeyUsage = true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature
		// Clients select the CA by its name, so names must be unique.
		made.Subject.CommonName = fmt.Sprintf("%s %x", i.secret, made.SerialNumber)
	} else {
		made.NotAfter, made.KeyUsage, made.ExtKeyUsage = v.end(), x509.KeyUsageDigitalSignature, i.leaf.Usages
		made.Subject.CommonName = i.leaf.CommonName
		made.DNSNames, made.IPAddresses = byForm(i.leaf.Hosts)
	}
	signed, err := sign(made, ca)
	if err != nil {
		return nil, err
	}
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(signed.key)
	data := map[string][]byte{corev1.TLSCertKey: signed.pem, corev1.TLSPrivateKeyKey: keyPEM, bundleKey: signed.pem}
	if ca != nil {
		data[bundleKey] = ca.pem
	}
	return data, err
}
