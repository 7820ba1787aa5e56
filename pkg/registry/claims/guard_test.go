// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"errors"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/kubernetes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/apis/example"
	"k8s.io/apiserver/pkg/apis/example/install"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/value/encrypt/identity"

	"groundskeeper.io/groundskeeper/test/support/etcdtest"
)

// meanwhile is an etcd where something happens once, after a key was read.
type meanwhile struct {
	clientv3.KV
	key string
	do  func()
}

func (m *meanwhile) Get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	response, err := m.KV.Get(ctx, key, opts...)
	if do := m.do; key == m.key && do != nil {
		m.do = nil
		do()
	}
	return response, err
}

// TestStaleClaimIsRemovedOnlyWhileItIsStale changes what makes a claim stale after it was found to be
// so and before it is removed.
func TestStaleClaimIsRemovedOnlyWhileItIsStale(t *testing.T) {
	const (
		holder, other, wanting = "/r/pods/holder", "/r/pods/other", "/r/pods/wanting"
		claim                  = "/r/claims/g/pods/node/"
	)
	errTaken := errors.New("taken")
	scheme := runtime.NewScheme()
	install.Install(scheme)
	codec := serializer.NewCodecFactory(scheme).LegacyCodec(examplev1.SchemeGroupVersion)
	encode := func(node string) string {
		data, err := runtime.Encode(codec, &example.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: example.PodSpec{NodeName: node}})
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	for name, test := range map[string]struct {
		holder    string            // the object behind the claim; "": there is none
		meanwhile map[string]string // puts; "": deletes
		want      error
		wantClaim string
	}{
		"nothing":                    {want: nil, wantClaim: wanting},
		"holder comes back":          {meanwhile: map[string]string{holder: encode("node")}, want: errTaken, wantClaim: holder},
		"holder takes the name back": {holder: encode("else"), meanwhile: map[string]string{holder: encode("node")}, want: errTaken, wantClaim: holder},
		"holder leaves":              {holder: encode("else"), meanwhile: map[string]string{holder: ""}, want: nil, wantClaim: wanting},
		"another takes it":           {meanwhile: map[string]string{other: encode("node"), claim: other}, want: errTaken, wantClaim: other},
		"claim is deleted":           {meanwhile: map[string]string{claim: ""}, want: nil, wantClaim: wanting},
	} {
		t.Run(name, func(t *testing.T) {
			etcd := etcdtest.Run(t)
			apply := func(key, value string) {
				var err error
				if value == "" {
					_, err = etcd.Delete(t.Context(), key)
				} else {
					_, err = etcd.Put(t.Context(), key, value)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			apply(claim, holder)
			if test.holder != "" {
				apply(holder, test.holder)
			}
			kv := &meanwhile{KV: etcd.KV, key: holder, do: func() {
				for key, value := range test.meanwhile {
					apply(key, value)
				}
			}}
			c := New(Config{
				Rule: Rule{
					Separator: "/",
					Name:      func(o runtime.Object) string { return o.(*example.Pod).Spec.NodeName },
					Rejection: func(runtime.Object, string) error { return errTaken },
				},
				KV: kv, Prefix: "r", Resource: schema.GroupResource{Group: "g", Resource: "pods"},
				Transformer: identity.NewEncryptCheckTransformer(), Decoder: etcd3.NewDefaultDecoder(codec, storage.APIObjectVersioner{}),
				NewFunc: func() runtime.Object { return &example.Pod{} },
			})
			_, err := c.Client(etcd.Kubernetes).OptimisticPut(withChange(t.Context(), &change{take: "node"}), wanting, []byte(encode("node")), 0, kubernetes.PutOptions{})
			if !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			found, err := etcd.KV.Get(t.Context(), claim)
			if err != nil || len(found.Kvs) != 1 || string(found.Kvs[0].Value) != test.wantClaim {
				t.Errorf("the claim is %v, want %s (%v)", found.Kvs, test.wantClaim, err)
			}
		})
	}
}
