// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/cert"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/remote/kubeconfig"
)

// Keys of a Secret that lead into the workload cluster.
const (
	// KeyKubeconfig is a kubeconfig. It wins when both layouts are there.
	KeyKubeconfig = "kubeconfig"
	// KeyCA, KeyCertificate and KeyPrivateKey are Kubernikus' own. The host is that of status.apiserver.
	KeyCA          = "tls-ca.pem"
	KeyCertificate = "apiserver-clients-cluster-admin.pem"
	KeyPrivateKey  = "apiserver-clients-cluster-admin-key.pem"
	// keyClusterAPI is the key of a kubeconfig in a Secret of Cluster API.
	keyClusterAPI = "value"
)

// workloadKeys are all of them.
var workloadKeys = []string{KeyKubeconfig, KeyCA, KeyCertificate, KeyPrivateKey}

// Failures to find the way into a workload cluster that are no mistakes.
var (
	// ErrNoWorkload means that the Secret reports nothing of a workload cluster.
	ErrNoWorkload = fmt.Errorf("has neither key %q nor key %q: set one of them for the cluster to be checked", KeyKubeconfig, KeyCertificate)
	// ErrNoHost means that the address of the API server is not written yet.
	ErrNoHost = fmt.Errorf("status.apiserver is empty: the component that builds the cluster writes it, or set key %q", KeyKubeconfig)
	// ErrProxy means that the kubeconfig has a proxy, which is not allowed.
	ErrProxy = kubeconfig.ErrProxy
)

// Reasons why nothing connects to a workload cluster.
const (
	ReasonSecretMissing = "SecretMissing"
	// ReasonSecretInvalid means that the Secret has no way into the cluster that can be used.
	ReasonSecretInvalid = "SecretInvalid"
	// ReasonNoCredentials means that the Secret reports nothing of the cluster.
	ReasonNoCredentials = "NoCredentials"
	// ReasonHostUnknown means that the address of the API server is not written yet.
	ReasonHostUnknown = "HostUnknown"
)

// WhyUnusable returns the reason and the message of a condition for an error of Secret or Connectable.
func WhyUnusable(k *kubernikusv1.Kluster, err error) (reason, message string) {
	switch {
	case errors.Is(err, ErrNoSecret):
		return ReasonSecretMissing, err.Error()
	case errors.Is(err, ErrNoWorkload):
		return ReasonNoCredentials, fmt.Sprintf("secret %s %v", SecretKey(k), err)
	case errors.Is(err, ErrNoHost):
		return ReasonHostUnknown, err.Error()
	}
	return ReasonSecretInvalid, fmt.Sprintf("secret %s: %v", SecretKey(k), err)
}

// HasWorkload reports whether the data of a Secret has a way into a workload cluster.
func HasWorkload(data map[string][]byte) bool {
	return len(data[KeyKubeconfig]) > 0 || len(data[KeyCertificate]) > 0
}

// Connectable is Workload for those who connect, which a proxy in the kubeconfig prevents unless it is allowed.
func Connectable(k *kubernikusv1.Kluster, data map[string][]byte, allowProxy bool) (*rest.Config, error) {
	config, err := Workload(k, data)
	if err == nil {
		err = ConnectionAllowed(config, allowProxy)
	}
	if err != nil {
		return nil, err
	}
	return config, nil
}

// ConnectionAllowed returns why nothing connects by a config of Workload.
func ConnectionAllowed(config *rest.Config, allowProxy bool) error {
	if err := kubeconfig.Allowed(config, allowProxy); err != nil {
		return fmt.Errorf("key %q: %w", KeyKubeconfig, err)
	}
	return nil
}

// Workload returns the configuration of the client for the API server of a Kluster, from the data of its Secret. Limits and the
// user agent are unset. An error that is neither ErrNoWorkload nor ErrNoHost describes what is wrong with a key.
func Workload(k *kubernikusv1.Kluster, data map[string][]byte) (*rest.Config, error) {
	text, exists := data[KeyKubeconfig]
	if len(text) > 0 {
		config, err := kubeconfig.Load(text)
		if err != nil {
			return nil, fmt.Errorf("key %q: %w", KeyKubeconfig, err)
		}
		return config, nil
	}
	if ref := k.Spec.SecretRef.Kubeconfig; ref != nil && !exists {
		return nil, fmt.Errorf("secret %s: %w: spec.secretRef.kubeconfig names it", ref.Name, ErrNoSecret)
	} else if ref != nil {
		return nil, fmt.Errorf("secret %s has no key %q, which spec.secretRef.kubeconfig names", ref.Name, kubeconfigKey(ref))
	}
	if !HasWorkload(data) {
		return nil, ErrNoWorkload
	}
	ca, certificate, key := data[KeyCA], data[KeyCertificate], data[KeyPrivateKey]
	if _, err := cert.ParseCertsPEM(ca); err != nil {
		return nil, fmt.Errorf("key %q has no certificate in PEM", KeyCA)
	}
	if _, err := tls.X509KeyPair(certificate, key); err != nil {
		return nil, fmt.Errorf("keys %q and %q are not a certificate and its key in PEM", KeyCertificate, KeyPrivateKey)
	}
	if k.Status.Apiserver == "" {
		return nil, ErrNoHost
	}
	if u, err := url.Parse(k.Status.Apiserver); err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
		return nil, errors.New("status.apiserver is not an https URL with a host and without credentials")
	}
	return &rest.Config{Host: k.Status.Apiserver, TLSClientConfig: rest.TLSClientConfig{CAData: ca, CertData: certificate, KeyData: key}}, nil
}
