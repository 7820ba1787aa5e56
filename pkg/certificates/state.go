// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// managedLabel marks the Secrets that a Keeper made. It touches no other.
const managedLabel = "groundskeeper.io/self-managed-certificate"

// Keys of the Secret, beside those of every Secret of type kubernetes.io/tls. There is no key of a CA.
const (
	bundleKey          = "ca.crt"
	nextCertificateKey = "next.crt"
	nextPrivateKeyKey  = "next.key"
)

// errForeign means that a Secret of another owner has the name of Groundskeeper's.
var errForeign = errors.New("it was not made by this server")

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

// encodeInto puts the state into a Secret, and nothing else.
func (s *state) encodeInto(secret *corev1.Secret) {
	metav1.SetMetaDataLabel(&secret.ObjectMeta, "app.kubernetes.io/part-of", "groundskeeper")
	metav1.SetMetaDataLabel(&secret.ObjectMeta, managedLabel, "true")
	secret.Data = map[string][]byte{
		corev1.TLSCertKey: s.current.certificate, corev1.TLSPrivateKeyKey: s.current.key, bundleKey: s.bundle,
	}
	if s.next != nil {
		secret.Data[nextCertificateKey], secret.Data[nextPrivateKeyKey] = s.next.certificate, s.next.key
	}
}
