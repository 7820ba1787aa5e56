// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"crypto/x509"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

const day = 24 * time.Hour

// issuers are replicas of an Issuer of a server and a client.
type issuers struct {
	kube *fake.Clientset
	all  []*Issuer
}

func issuerOptions() IssuerOptions {
	return IssuerOptions{
		Name: "ca", Namespace: "system", Timing: Timing{Validity: 3 * day, RenewBefore: day}.withDefaults(),
		Leaves: []Leaf{
			{Secret: "server", Server: "db", CommonName: "db", Hosts: []string{"*.db.system.svc", "localhost", "127.0.0.1", "::1"}, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}},
			{Secret: "client", Server: "db-client", CommonName: "app", Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}},
		},
	}
}

// issuingRun runs a test in fake time with replicas at work.
func issuingRun(t *testing.T, replicas int, test func(t *testing.T, i *issuers)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		i := &issuers{kube: fake.NewClientset()}
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for range replicas {
			issuer := &Issuer{options: issuerOptions(), store: store{i.kube, "system"}}
			i.all = append(i.all, issuer)
			group.Go(func() { issuer.Run(ctx) })
		}
		synctest.Wait()
		test(t, i)
		cancel()
		group.Wait()
	})
}

// pass lets time pass.
func (i *issuers) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (i *issuers) secret(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	secret, err := i.kube.CoreV1().Secrets("system").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// edit changes a Secret; nil deletes it.
func (i *issuers) edit(t *testing.T, name string, how func(*corev1.Secret)) {
	t.Helper()
	secrets := i.kube.CoreV1().Secrets("system")
	var err error
	if how == nil {
		err = secrets.Delete(t.Context(), name, metav1.DeleteOptions{})
	} else {
		secret := i.secret(t, name)
		how(secret)
		_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// leaf returns the certificate in a Secret, which a client that trusts the bundle in another Secret accepts, although its clock is behind.
func (i *issuers) leaf(t *testing.T, name, trusting string, use x509.ExtKeyUsage, host string) *x509.Certificate {
	t.Helper()
	secret := i.secret(t, name)
	p, err := parsePair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey], secret.Data[bundleKey])
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(i.secret(t, trusting).Data[bundleKey])
	behind := time.Now().Add(-10 * time.Minute)
	client := x509.VerifyOptions{Roots: roots, DNSName: host, KeyUsages: []x509.ExtKeyUsage{use}, CurrentTime: behind}
	if _, err := p.tls.Leaf.Verify(client); err != nil {
		t.Fatalf("%s for %q: %v", name, host, err)
	}
	return p.tls.Leaf
}

func TestIssuer(t *testing.T) {
	issuingRun(t, 3, func(t *testing.T, i *issuers) {
		for _, host := range []string{"db-0.db.system.svc", "db-4.db.system.svc", "localhost", "127.0.0.1", "::1"} {
			i.leaf(t, "server", "client", x509.ExtKeyUsageServerAuth, host)
		}
		i.leaf(t, "server", "server", x509.ExtKeyUsageClientAuth, "")
		client := i.leaf(t, "client", "server", x509.ExtKeyUsageClientAuth, "")
		// etcd takes a client's names for the addresses that it may come from.
		if len(client.DNSNames) > 0 || len(client.IPAddresses) > 0 || client.Subject.CommonName != "app" {
			t.Errorf("client: %s, %v, %v", client.Subject, client.DNSNames, client.IPAddresses)
		}
		key := i.secret(t, "ca").Data[corev1.TLSPrivateKeyKey]
		for _, name := range []string{"server", "client"} {
			for entry, data := range i.secret(t, name).Data {
				if bytes.Contains(data, key) {
					t.Errorf("%s of %s has the key of the CA", entry, name)
				}
			}
		}
		before := i.secret(t, "ca")
		first := i.leaf(t, "server", "client", x509.ExtKeyUsageServerAuth, "localhost")
		i.pass(2*day - time.Minute)
		if !i.leaf(t, "server", "client", x509.ExtKeyUsageServerAuth, "localhost").Equal(first) {
			t.Error("it was replaced before its time")
		}
		i.pass(time.Hour)
		if second := i.leaf(t, "server", "client", x509.ExtKeyUsageServerAuth, "localhost"); second.Equal(first) || time.Until(second.NotAfter) < 2*day {
			t.Errorf("it was not replaced: it ends at %s", second.NotAfter)
		}
		if !bytes.Equal(before.Data[corev1.TLSCertKey], i.secret(t, "ca").Data[corev1.TLSCertKey]) {
			t.Error("the CA was replaced")
		}
	})
}

// TestIssuerRestores checks that lost or modified certificates are issued again by the same CA.
func TestIssuerRestores(t *testing.T) {
	issuingRun(t, 1, func(t *testing.T, i *issuers) {
		for what, how := range map[string]func(*corev1.Secret){
			"deleted": nil,
			"emptied": func(s *corev1.Secret) { s.Data = nil },
			"another's key": func(s *corev1.Secret) {
				s.Data[corev1.TLSPrivateKeyKey] = i.secret(t, "server").Data[corev1.TLSPrivateKeyKey]
			},
			"another's": func(s *corev1.Secret) { s.Data = i.secret(t, "server").Data },
			"bundle":    func(s *corev1.Secret) { s.Data[bundleKey] = append(s.Data[bundleKey], s.Data[corev1.TLSCertKey]...) },
		} {
			i.edit(t, "client", how)
			i.pass(recheckPeriod + time.Second)
			if client := i.leaf(t, "client", "server", x509.ExtKeyUsageClientAuth, ""); client.Subject.CommonName != "app" {
				t.Errorf("%s: it is for %s", what, client.Subject)
			}
		}
		next := &Issuer{options: issuerOptions(), store: store{i.kube, "system"}} // of the next version
		next.options.Leaves[0].Hosts = []string{"*.other.system.svc"}
		if _, err := next.pass(t.Context()); err != nil {
			t.Fatal(err)
		}
		i.leaf(t, "server", "client", x509.ExtKeyUsageServerAuth, "db-0.other.system.svc")
	})
}

// TestIssuerKeepsCertificatesOfALostCA checks that a lost CA is not replaced while a certificate of it may be in use.
func TestIssuerKeepsCertificatesOfALostCA(t *testing.T) {
	issuingRun(t, 2, func(t *testing.T, i *issuers) {
		first := i.leaf(t, "server", "client", x509.ExtKeyUsageServerAuth, "localhost")
		i.edit(t, "ca", nil)
		i.pass(time.Hour)
		if _, err := i.kube.CoreV1().Secrets("system").Get(t.Context(), "ca", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
			t.Fatalf("there is another CA: %v", err)
		}
		if _, err := i.all[0].pass(t.Context()); err == nil || !strings.Contains(err.Error(), "restore its secret") {
			t.Errorf("it reports %v", err)
		}
		if !i.leaf(t, "server", "client", x509.ExtKeyUsageServerAuth, "localhost").Equal(first) {
			t.Error("the certificate was replaced")
		}
		// To get another CA, a user deletes everything of the old one.
		i.edit(t, "server", nil)
		i.edit(t, "client", nil)
		i.pass(recheckPeriod + time.Minute)
		i.leaf(t, "server", "client", x509.ExtKeyUsageServerAuth, "localhost")
		i.leaf(t, "client", "server", x509.ExtKeyUsageClientAuth, "")
	})
}

func TestIssuerLeavesForeignSecrets(t *testing.T) {
	issuingRun(t, 1, func(t *testing.T, i *issuers) {
		i.edit(t, "client", func(s *corev1.Secret) { s.Labels, s.Data = nil, map[string][]byte{"mine": {1}} })
		i.pass(time.Hour)
		if secret := i.secret(t, "client"); len(secret.Data) != 1 {
			t.Error("it was overwritten")
		}
		if _, err := i.all[0].pass(t.Context()); err == nil || !strings.Contains(err.Error(), errForeign.Error()) {
			t.Errorf("it reports %v", err)
		}
	})
}

// TestIssuerNearExpiryOfItsCA checks that no certificate outlives the CA, and that the expiry of the CA is reported in advance.
func TestIssuerNearExpiryOfItsCA(t *testing.T) {
	issuingRun(t, 1, func(t *testing.T, i *issuers) {
		v, err := i.all[0].read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last := v.signer.certificate.NotAfter
		v.now = last.Add(-2 * day)
		if todo, err := v.plan(); err != nil || todo == nil {
			t.Fatalf("a certificate that ended long ago is left: %v", err)
		}
		if end := v.end(); !end.Equal(last) {
			t.Errorf("a certificate would end at %s, the CA at %s", end, last)
		}
		for n := range v.leaves {
			v.leaves[n].pair.tls.Leaf.NotAfter = last
		}
		if todo, err := v.plan(); err != nil || todo != nil {
			t.Errorf("%v is issued again in vain: %v", todo, err)
		}
		v.now = last.Add(-day / 2)
		if _, err := v.plan(); err == nil || !strings.Contains(err.Error(), "the CA expires at") {
			t.Errorf("it reports %v", err)
		}
	})
}
