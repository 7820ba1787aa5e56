// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/cert"

	"groundskeeper.io/groundskeeper/pkg/apiserver/hostprobe"
)

func TestAdmissionStatus(t *testing.T) {
	order := []string{"First", "Second", "Third", "Fourth"}
	missing := hostprobe.Disabled{Name: "Third", Reason: "the kube-apiserver does not serve thirds (v1)"}
	for name, tc := range map[string]struct {
		change   func(*Options)
		disabled []hostprobe.Disabled
		want     admissionStatus
	}{
		"all": {func(*Options) {}, nil, admissionStatus{Enabled: order, Disabled: []disabledStatus{}}},
		// Plugins that the management cluster does not support are added to the list of the flag.
		"some": {
			func(o *Options) { o.Admission.DisablePlugins = []string{"Second", "Third"} }, []hostprobe.Disabled{missing},
			admissionStatus{Enabled: []string{"First", "Fourth"}, Disabled: []disabledStatus{{"Second", "--disable-admission-plugins"}, {"Third", missing.Reason}}},
		},
		"disabled and enabled": {
			func(o *Options) {
				o.Admission.DisablePlugins, o.Admission.EnablePlugins = []string{"Second"}, []string{"Second"}
			}, nil,
			admissionStatus{Enabled: order, Disabled: []disabledStatus{}},
		},
		"standalone": {
			func(o *Options) { o.Standalone, o.Admission.RecommendedPluginOrder = true, order[:1] }, nil,
			admissionStatus{Enabled: []string{}, Disabled: []disabledStatus{{"First", "--standalone"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := NewOptions()
			o.Admission.RecommendedPluginOrder = order
			tc.change(o)
			if diff := cmp.Diff(tc.want, (&diagnosis{options: o, disabled: tc.disabled}).admission()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The page lists policies whose parameters the server cannot read, or the reason why they are unknown.
func TestPoliciesStatus(t *testing.T) {
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "limits"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{ParamKind: &admissionregistrationv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"}}}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "limits"},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "limits", ParamRef: &admissionregistrationv1.ParamRef{Name: "p"}}}
	host := fake.NewClientset(policy, binding)
	host.Resources = []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{{Name: "configmaps", Kind: "ConfigMap", Namespaced: true}}}}
	host.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		return true, action.(clienttesting.CreateAction).GetObject(), nil // not allowed
	})
	problems := (&diagnosis{host: host}).policies()
	if len(problems) != 1 || problems[0].Policy != "ValidatingAdmissionPolicy limits" || !strings.Contains(problems[0].Reason, "get, list, watch configmaps") {
		t.Errorf("policies = %+v", problems)
	}
	host.PrependReactor("list", "validatingadmissionpolicies", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("kube-apiserver is unavailable")
	})
	if problems := (&diagnosis{host: host}).policies(); len(problems) != 1 || problems[0].Policy != "unknown" || !strings.Contains(problems[0].Reason, "is unavailable") {
		t.Errorf("policies without a response = %+v", problems)
	}
	if problems := (&diagnosis{}).policies(); problems != nil {
		t.Errorf("policies without a host = %+v", problems)
	}
}

func TestStoreStatus(t *testing.T) {
	o := NewOptions()
	o.Etcd.StorageConfig.Transport.ServerList = []string{"unix:///data/etcd/client.sock"} // as the start sets it
	o.EmbeddedEtcdDir = "/data"
	want := storeStatus{Etcd: "/data", Embedded: true, Prefix: EtcdPrefix, Encryption: "none"}
	if diff := cmp.Diff(want, (&diagnosis{options: o}).store()); diff != "" {
		t.Error(diff)
	}
	o = NewOptions()
	o.Etcd.StorageConfig.Transport.ServerList = []string{"https://a:2379", "https://b:2379"}
	o.Etcd.EncryptionProviderConfigFilepath = "/etc/encryption.yaml"
	want = storeStatus{Etcd: "https://a:2379,https://b:2379", Prefix: EtcdPrefix, Encryption: "/etc/encryption.yaml"}
	if diff := cmp.Diff(want, (&diagnosis{options: o}).store()); diff != "" {
		t.Error(diff)
	}
}

func TestDescribeCertificate(t *testing.T) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("a.example.com", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	names, ends := describe(certificate, key)
	if end, err := time.Parse(time.RFC3339, ends); err != nil || time.Until(end) <= 0 || !cmp.Equal(names, []string{"a.example.com"}) {
		t.Errorf("%v, %s, %v", names, ends, err)
	}
	if names, ends := describe(nil, nil); names != nil || ends != "" {
		t.Errorf("%v, %s", names, ends)
	}
}
