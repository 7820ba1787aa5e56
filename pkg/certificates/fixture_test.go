// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
)

const host = "server.system.svc"

// cluster is an API server that has one Secret, with optimistic locking, and the targets.
type cluster struct {
	t       *testing.T
	kube    *fake.Clientset
	objects *dynamicfake.FakeDynamicClient
	meta    *metadatafake.FakeMetadataClient
	targets []Target

	mu       sync.Mutex
	secret   *corev1.Secret
	revision int
	// secretWrites and targetWrites count what succeeded.
	secretWrites, targetWrites int
	// failWrites makes writes of targets fail.
	failWrites bool
	// known are the pairs of certificate and bundle that were found to fit; to check a signature takes long.
	known map[string]bool
	// keepers are the replicas whose certificates every client must accept at any time.
	keepers []*Keeper
}

func newCluster(t *testing.T, objects ...runtime.Object) *cluster {
	t.Helper()
	c := &cluster{t: t, known: map[string]bool{}, kube: fake.NewClientset(), targets: []Target{APIService("v1.a"), APIService("v1.b"), ValidatingWebhooks("hooks")}}
	if objects == nil {
		objects = []runtime.Object{apiService("v1.a"), apiService("v1.b"), webhooks("hooks")}
	}
	c.objects = dynamicfake.NewSimpleDynamicClient(runtime.NewScheme(), objects...)
	c.meta = metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme())
	c.kube.PrependReactor("*", "secrets", c.react)
	c.objects.PrependReactor("update", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.failWrites {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{}, "x", nil)
		}
		c.targetWrites++
		return false, nil, nil
	})
	return c
}

// react keeps the Secret: the first write of a revision wins.
func (c *cluster) react(action clienttesting.Action) (bool, runtime.Object, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	resource := corev1.Resource("secrets")
	switch a := action.(type) {
	case clienttesting.CreateActionImpl:
		if c.secret != nil {
			return true, nil, apierrors.NewAlreadyExists(resource, "tls")
		}
		return true, c.store(a.Object), nil
	case clienttesting.UpdateActionImpl:
		if c.secret == nil {
			return true, nil, apierrors.NewNotFound(resource, "tls")
		}
		if a.Object.(*corev1.Secret).ResourceVersion != c.secret.ResourceVersion {
			return true, nil, apierrors.NewConflict(resource, "tls", nil)
		}
		return true, c.store(a.Object), nil
	case clienttesting.GetActionImpl:
		if c.secret == nil {
			return true, nil, apierrors.NewNotFound(resource, "tls")
		}
		return true, c.secret.DeepCopy(), nil
	}
	return false, nil, nil
}

func (c *cluster) store(object runtime.Object) *corev1.Secret {
	c.secret = object.DeepCopyObject().(*corev1.Secret)
	c.revision++
	c.secretWrites++
	c.secret.ResourceVersion = strconv.Itoa(c.revision)
	return c.secret.DeepCopy()
}

// edit changes the Secret behind everybody's back; nil deletes it.
func (c *cluster) edit(how func(*corev1.Secret)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if how == nil {
		c.secret = nil
		return
	}
	c.revision++
	c.secret.ResourceVersion = strconv.Itoa(c.revision)
	how(c.secret)
}

func (c *cluster) current() *state {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.secret == nil {
		c.t.Fatal("there is no Secret")
	}
	s, err := decode(c.secret)
	if err != nil {
		c.t.Fatal(err)
	}
	return s
}

func (c *cluster) writes() (secret, targets int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.secretWrites, c.targetWrites
}

// keeper returns a replica. Whatever it serves, clients accept: that is checked at every change.
func (c *cluster) keeper() *Keeper {
	k := &Keeper{
		options: Options{Name: "tls", Namespace: "system", Hosts: []string{host}, Targets: c.targets, Timing: Timing{Validity: 9 * 24 * time.Hour, RenewBefore: 3 * 24 * time.Hour}.withDefaults()},
		store:   store{c.kube, "system"}, objects: c.objects, metadata: c.meta,
	}
	c.keepers = append(c.keepers, k)
	return k
}

// bundles returns the bundles of the targets, one entry a webhook.
func (c *cluster) bundles() map[string]string {
	c.t.Helper()
	bundles := map[string]string{}
	for _, target := range c.targets {
		object, err := c.objects.Tracker().Get(target.resource, "", target.name)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			c.t.Fatal(err)
		}
		content := object.(*unstructured.Unstructured).Object
		value, found, _ := unstructured.NestedString(content, "spec", "caBundle")
		if found || target.resource.Resource == "apiservices" {
			bundles[target.name] = value
		}
		hooks, _, _ := unstructured.NestedSlice(content, "webhooks")
		for i, hook := range hooks {
			bundles[target.name+strconv.Itoa(i)], _, _ = unstructured.NestedString(hook.(map[string]any), "clientConfig", "caBundle")
		}
	}
	return bundles
}

// accepted complains when a client that believes the targets would reject a replica.
func (c *cluster) accepted() error {
	for i, k := range c.keepers {
		served, err := k.GetCertificate(nil)
		if err != nil {
			return fmt.Errorf("replica %d: %w", i, err)
		}
		for target, encoded := range c.bundles() {
			bundle, err := base64.StdEncoding.DecodeString(encoded)
			if err != nil {
				return err
			}
			key := string(served.Leaf.Raw) + encoded
			if c.known[key] && time.Now().Before(served.Leaf.NotAfter) {
				continue
			}
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(bundle)
			if _, err := served.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: time.Now()}); err != nil {
				return fmt.Errorf("replica %d is rejected by clients of %s: %w", i, target, err)
			}
			c.known[key] = true
		}
	}
	return nil
}

func object(apiVersion, kind, name string, content map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	o.SetName(name)
	for key, value := range content {
		o.Object[key] = value
	}
	return o
}

func apiService(name string) *unstructured.Unstructured {
	return object("apiregistration.k8s.io/v1", "APIService", name, map[string]any{"spec": map[string]any{"service": map[string]any{"name": "server"}}})
}

func webhooks(name string) *unstructured.Unstructured {
	hook := func(name string) any {
		return map[string]any{"name": name, "clientConfig": map[string]any{"url": "https://" + host}}
	}
	return object("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", name, map[string]any{"webhooks": []any{hook("a"), hook("b")}})
}

// changeTarget edits a target behind everybody's back.
func (c *cluster) changeTarget(target Target, how func(map[string]any)) {
	c.t.Helper()
	current, err := c.objects.Resource(target.resource).Get(c.t.Context(), target.name, metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	how(current.Object)
	if err := c.objects.Tracker().Update(target.resource, current, ""); err != nil {
		c.t.Fatal(err)
	}
}
