// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster_test

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

const twoClouds = "clouds:\n  one: {auth: {auth_url: 'https://one.example', application_credential_id: i, application_credential_secret: s}}\n" +
	"  two: {auth: {auth_url: 'https://two.example', application_credential_id: i, application_credential_secret: s}}\n"

func secret(name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: klustertest.Namespace, Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

// The kubeconfig and the OpenStack credentials may be in Secrets that Cluster API writes.
func TestSecretsInTwoPlaces(t *testing.T) {
	kubeconfig, cloud := &kubernikusv1.KubeconfigReference{Name: "web-kubeconfig"}, &kubernikusv1.CloudReference{Name: "web-cloud-config", CloudName: "two"}
	own := secret("k-secret", map[string]string{"kubeconfig": string(kubeconfigFor("https://own.example")), "clouds.yaml": strings.Split(twoClouds, "  two:")[0]})
	value := secret("web-kubeconfig", map[string]string{"value": string(kubeconfigFor("https://capi.example"))})
	other := secret("web-kubeconfig", map[string]string{"config": string(kubeconfigFor("https://other.example"))})
	clouds := secret("web-cloud-config", map[string]string{"clouds.yaml": twoClouds, "kubeconfig": string(kubeconfigFor("https://wrong.example"))})
	for name, c := range map[string]struct {
		ref             kubernikusv1.SecretReference
		secrets         []client.Object
		workload, cloud string
		fails           string
	}{
		"one Secret":      {kubernikusv1.SecretReference{}, []client.Object{own}, "https://own.example", "one.example", ""},
		"both elsewhere":  {kubernikusv1.SecretReference{Kubeconfig: kubeconfig, Cloud: cloud}, []client.Object{value, clouds}, "https://capi.example", "two.example", ""},
		"kubeconfig only": {kubernikusv1.SecretReference{Kubeconfig: kubeconfig}, []client.Object{own, value}, "https://capi.example", "one.example", ""},
		"cloud only":      {kubernikusv1.SecretReference{Cloud: cloud}, []client.Object{own, clouds}, "https://own.example", "two.example", ""},
		"another key":     {kubernikusv1.SecretReference{Kubeconfig: &kubernikusv1.KubeconfigReference{Name: "web-kubeconfig", Key: "config"}}, []client.Object{own, other}, "https://other.example", "one.example", ""},
		"no such key":     {kubernikusv1.SecretReference{Kubeconfig: kubeconfig}, []client.Object{own, other}, "", "one.example", `secret web-kubeconfig has no key "value"`},
		"no kubeconfig":   {kubernikusv1.SecretReference{Kubeconfig: kubeconfig, Cloud: cloud}, []client.Object{clouds}, "", "two.example", "secret web-kubeconfig: the Secret does not exist"},
		"one is missing":  {kubernikusv1.SecretReference{Kubeconfig: kubeconfig, Cloud: cloud}, []client.Object{value}, "", "", "garden-shop/web-cloud-config: the Secret does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			k := klustertest.Kluster("k", func(k *kubernikusv1.Kluster) { k.Spec.SecretRef = c.ref })
			var objects []client.Object
			for _, s := range c.secrets {
				objects = append(objects, s.DeepCopyObject().(client.Object))
			}
			together, err := kluster.Secret(t.Context(), klustertest.NewStore(t, objects...), k)
			if err != nil {
				if c.fails == "" || !errors.Is(err, kluster.ErrNoSecret) || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("got %v, want %q", err, c.fails)
				}
				return
			}
			config, err := kluster.Workload(k, together.Data)
			switch {
			case c.workload == "" && (err == nil || !strings.Contains(err.Error(), c.fails)):
				t.Errorf("workload: %v, %v, want %q", config, err, c.fails)
			case c.workload != "" && (err != nil || config.Host != c.workload):
				t.Errorf("workload: %v, %v, want %s", config, err, c.workload)
			}
			if config == nil && len(c.secrets) == 1 && !errors.Is(err, kluster.ErrNoSecret) {
				t.Errorf("workload: %v, want ErrNoSecret", err)
			}
			credentials, err := openstack.CredentialsOf(together.Data)
			if err != nil || credentials.Host() != c.cloud {
				t.Errorf("cloud = %s, %v, want %s", credentials.Host(), err, c.cloud)
			}
		})
	}
}

// The region of a reference takes precedence over that of the cloud.
func TestRegionOfAReference(t *testing.T) {
	k := klustertest.Kluster("k", func(k *kubernikusv1.Kluster) {
		k.Spec.SecretRef = kubernikusv1.SecretReference{Cloud: &kubernikusv1.CloudReference{Name: "web-cloud-config", CloudName: "one", RegionName: "west"}}
	})
	clouds := secret("web-cloud-config", map[string]string{"clouds.yaml": strings.Replace(twoClouds, "one: {", "one: {region_name: east, ", 1)})
	credentials, err := openstack.CredentialsOf(kluster.Together(k, []*corev1.Secret{secret("k-secret", nil), clouds}).Data)
	if err != nil || credentials.Region != "west" {
		t.Errorf("region = %q, %v, want west", credentials.Region, err)
	}
	k.Spec.SecretRef.Cloud.RegionName = ""
	if credentials, err = openstack.CredentialsOf(kluster.Together(k, []*corev1.Secret{secret("k-secret", nil), clouds}).Data); err != nil || credentials.Region != "east" {
		t.Errorf("region = %q, %v, want east", credentials.Region, err)
	}
}

// A new version of any of the Secrets is a new version of what they have together.
func TestTogetherChangesWithEach(t *testing.T) {
	k := klustertest.Kluster("k", func(k *kubernikusv1.Kluster) {
		k.Spec.SecretRef = kubernikusv1.SecretReference{Kubeconfig: &kubernikusv1.KubeconfigReference{Name: "a"}, Cloud: &kubernikusv1.CloudReference{Name: "b"}}
	})
	a, b := secret("a", nil), secret("b", nil)
	a.UID, a.ResourceVersion, b.UID, b.ResourceVersion = "1", "11", "2", "22"
	before := kluster.Together(k, []*corev1.Secret{a, b})
	for _, changed := range []*corev1.Secret{a, b} {
		changed.ResourceVersion += "0"
		after := kluster.Together(k, []*corev1.Secret{a, b})
		if after.ResourceVersion == before.ResourceVersion || after.UID != before.UID {
			t.Errorf("versions = %s and %s, uids = %s and %s, want another version when %s changes", before.ResourceVersion, after.ResourceVersion, before.UID, after.UID, changed.Name)
		}
		changed.UID += "0"
		again := kluster.Together(k, []*corev1.Secret{a, b})
		if again.UID == after.UID {
			t.Errorf("uids = %s and %s, want another uid when %s is recreated", after.UID, again.UID, changed.Name)
		}
		before = again
	}
}
