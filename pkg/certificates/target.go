// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/retry"
)

// Target is an object that specifies which CAs clients of a server trust, in a field caBundle.
type Target struct {
	resource schema.GroupVersionResource
	name     string
	// set puts the bundle, in base64, into the object and reports whether that changed it.
	set func(object map[string]any, bundle string) (changed bool, err error)
}

// Name returns the name of the object.
func (t Target) Name() string { return t.name }

// APIService returns the registration of a group version that the server serves.
func APIService(name string) Target {
	return Target{schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}, name, setInAPIService}
}

// ValidatingWebhooks returns the webhooks of one configuration, all of which the server serves.
func ValidatingWebhooks(name string) Target {
	return Target{schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1",
		Resource: "validatingwebhookconfigurations"}, name, setInWebhooks}
}

// setInAPIService leaves alone one without a service: kube-apiserver serves that itself.
func setInAPIService(object map[string]any, bundle string) (bool, error) {
	spec, _, err := unstructured.NestedMap(object, "spec")
	if err != nil || spec["service"] == nil || spec["caBundle"] == bundle {
		return false, err
	}
	// The API server rejects it in combination with a caBundle.
	delete(spec, "insecureSkipTLSVerify")
	spec["caBundle"] = bundle
	return true, unstructured.SetNestedMap(object, spec, "spec")
}

func setInWebhooks(object map[string]any, bundle string) (bool, error) {
	webhooks, _, err := unstructured.NestedSlice(object, "webhooks")
	if err != nil {
		return false, err
	}
	changed := false
	for i, entry := range webhooks {
		webhook, ok := entry.(map[string]any)
		if !ok {
			return false, fmt.Errorf("webhooks[%d] is no object", i)
		}
		if current, _, err := unstructured.NestedString(webhook, "clientConfig", "caBundle"); err != nil || current == bundle {
			if err != nil {
				return false, err
			}
			continue
		}
		if err := unstructured.SetNestedField(webhook, bundle, "clientConfig", "caBundle"); err != nil {
			return false, err
		}
		changed = true
	}
	if !changed {
		return false, nil
	}
	return true, unstructured.SetNestedSlice(object, webhooks, "webhooks")
}

// publish sets the bundle of a target, unless it is up to date. A target that does not exist has no clients.
func (k *Keeper) publish(ctx context.Context, target Target, bundle []byte) (wrote bool, err error) {
	objects, encoded := k.objects.Resource(target.resource), base64.StdEncoding.EncodeToString(bundle)
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		object, err := objects.Get(ctx, target.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
		changed, err := target.set(object.Object, encoded)
		if err != nil || !changed {
			return err
		}
		if _, err = objects.Update(ctx, object, metav1.UpdateOptions{FieldManager: fieldManager}); apierrors.IsNotFound(err) {
			return nil
		}
		wrote = err == nil
		return err
	})
	if err != nil {
		return false, fmt.Errorf("write the CA of %s to %s %s: %w", k.options.Name, target.resource.Resource, target.name, err)
	}
	return wrote, nil
}

// split returns the certificates of a bundle in PEM. One that cannot be read is an empty bundle.
func split(bundle []byte) []*x509.Certificate {
	certificates, err := cert.ParseCertsPEM(bundle)
	if err != nil {
		return nil
	}
	return certificates
}

// join returns the bundle of certificates. The same ones in the same order are the same bytes.
func join(certificates []*x509.Certificate) []byte {
	var bundle bytes.Buffer
	for _, certificate := range certificates {
		bundle.Write(encode(certificate.Raw))
	}
	return bundle.Bytes()
}

func trusts(bundle, ca []byte) bool {
	wanted := split(ca)
	return len(wanted) == 1 && slices.ContainsFunc(split(bundle), wanted[0].Equal)
}

// trusting returns the bundle with a CA that it may have already.
func trusting(bundle, ca []byte) []byte {
	if trusts(bundle, ca) {
		return bundle
	}
	return join(append(split(bundle), split(ca)...))
}
