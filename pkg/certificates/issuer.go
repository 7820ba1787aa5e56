// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// recheckPeriod is how often an Issuer checks its Secrets when there is nothing to do.
const recheckPeriod = 5 * time.Minute

// orDelete is the remedy for a Secret of another owner.
const orDelete = "or delete it"

// IssuerOptions specify what certificates are kept, and where.
type IssuerOptions struct {
	// Name and Namespace are those of the Secret with the CA and its key. Only an Issuer reads it.
	Name, Namespace string
	// Leaves are the certificates that the CA signs.
	Leaves []Leaf
	// Timing specifies when they are replaced: Validity and RenewBefore.
	Timing Timing
}

// Leaf is a certificate in a dedicated Secret, beside its key and the certificate of the CA.
type Leaf struct {
	// Secret is the name of the Secret.
	Secret string
	// Server is what the metric of its expiry calls it.
	Server string
	// CommonName is the common name of the certificate.
	CommonName string
	// Hosts are the DNS names, wildcards too, and IP addresses of a server; none for a client.
	Hosts []string
	// Usages specify whether it is a server, a client or both.
	Usages []x509.ExtKeyUsage
}

// Issuer keeps certificates for programs that read their own from files again with every connection, and the CA only when they
// start, as etcd does: a Keeper's way, a new CA with every certificate, would lock them out. The CA therefore lasts for ten years,
// and its key is kept, apart from what it signs.
//
// Replicas do not elect a leader: writes are optimistic, and the second writer reads what the first wrote.
type Issuer struct {
	store
	options IssuerOptions
	// seen are the certificates that were read last, in PEM, by their Secrets: those of another client, too, because the readers of the
	// Secret use them.
	seen sync.Map
}

// NewIssuer returns an issuer that talks to the API server of config.
func NewIssuer(config *rest.Config, options IssuerOptions) (*Issuer, error) {
	secrets, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("CA %s: %w", options.Name, err)
	}
	options.Timing = options.Timing.withDefaults()
	return &Issuer{options: options, store: store{secrets, options.Namespace}}, nil
}

// Run keeps the certificates until ctx is done.
func (i *Issuer) Run(ctx context.Context) {
	logger := logr.FromContextOrDiscard(ctx).WithValues("authority", i.options.Namespace+"/"+i.options.Name)
	repeat(logr.NewContext(ctx, logger), i.pass, nil, "The certificates are not in order, trying again")
}

// pass does what is to be done and returns how long there will be nothing to do. Each step reads all Secrets and writes one.
func (i *Issuer) pass(ctx context.Context) (time.Duration, error) {
	for range maxSteps + len(i.options.Leaves) {
		v, err := i.read(ctx)
		if err != nil {
			return 0, err
		}
		todo, err := v.plan()
		if err != nil {
			return 0, err
		}
		if todo == nil {
			return recheckPeriod, nil
		}
		if err := i.write(ctx, v, todo); err != nil {
			return 0, err
		}
	}
	return 0, fmt.Errorf("secrets of the CA %s/%s: another client writes them all the time", i.options.Namespace, i.options.Name)
}

// read reads all Secrets, even if one is invalid, because the expiry of each is needed. An invalid certificate is treated as missing.
func (i *Issuer) read(ctx context.Context) (issuance, error) {
	v := issuance{name: i.options.Name, now: time.Now(), timing: i.options.Timing}
	secret, err := i.get(ctx, i.options.Name, orDelete)
	errs := []error{err}
	if err == nil {
		v.ca = secret
		if v.signer, err = decodeSigner(secret); err != nil {
			logr.FromContextOrDiscard(ctx).Info("Failed to use the CA", "err", err.Error())
		}
	}
	for _, leaf := range i.options.Leaves {
		secret, err := i.get(ctx, leaf.Secret, orDelete)
		errs = append(errs, err)
		if err == nil || errors.Is(err, errForeign) {
			i.seen.Store(leaf.Secret, certificateIn(secret))
		}
		kept := keptLeaf{Leaf: leaf, secret: secret}
		if err == nil && secret != nil {
			// An invalid pair is treated as missing, and issued again.
			kept.pair, _ = parsePair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey], secret.Data[bundleKey])
			kept.bundle = secret.Data[bundleKey]
		}
		v.leaves = append(v.leaves, kept)
	}
	return v, errors.Join(errs...)
}

func certificateIn(secret *corev1.Secret) []byte {
	if secret == nil {
		return nil
	}
	return secret.Data[corev1.TLSCertKey]
}

// write issues the certificate and writes its Secret.
func (i *Issuer) write(ctx context.Context, v issuance, todo *issuing) error {
	data, err := todo.make(v)
	if err != nil {
		return fmt.Errorf("make a certificate for %s: %w", todo.secret, err)
	}
	wrote, err := i.put(ctx, todo.secret, todo.kept, data)
	if wrote {
		logr.FromContextOrDiscard(ctx).Info("Wrote a certificate", "secret", todo.secret, "reason", todo.why)
	}
	return err
}
