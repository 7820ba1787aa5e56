// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package scheme

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

// FuzzDecode sends malformed and unusual JSON to the decoder of the server. It must not panic, and what it accepts
// must be stored in one form only: read and written again, by JSON or protobuf, it is unchanged.
func FuzzDecode(f *testing.F) {
	files, err := filepath.Glob("testdata/HEAD/*.json")
	if err != nil || len(files) == 0 {
		f.Fatalf("no golden files to start from: %v", err)
	}
	for i := range kinds() {
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint8(i), data)
		}
		for _, data := range []string{
			`{}`, `{"spec":null}`, `{"spec":{"members":[{"roles":["","owner","owner"]}]}}`, `{"spec":{"namespace":"garden","tolerations":{"defaults":[{}]}}}`,
			`{"cluster":{"type":"KUBERNETES","drainGracePeriod":"1m"}}`, `{"spec":{"nodePools":[{"size":1},{}],"serviceCIDR":"x"}}`, `{"resources":[{"body":"\ud800"}]}`,
			`{"metadata":{"creationTimestamp":"2026-01-02T03:04:05.6+07:00","managedFields":[{"fieldsV1":{ "a" : 1 }}]}}`,
		} {
			f.Add(uint8(i), []byte(data))
		}
	}
	scheme := newScheme(f)
	codecs := serializer.NewCodecFactory(scheme)
	proto := protobuf.NewSerializer(scheme, scheme)
	f.Fuzz(func(t *testing.T, index uint8, data []byte) {
		kind := kinds()[int(index)%len(kinds())]
		first := decode(codecs, kind, data)
		if first == nil || !isOwn(scheme, first) {
			return
		}
		again := first.DeepCopyObject()
		scheme.Default(again)
		if !apiequality.Semantic.DeepEqual(first, again) {
			t.Fatalf("%s is not decoded to its normal form: -decoded +normalized:\n%s", kind.Kind, cmp.Diff(first, again))
		}
		codec := codecs.LegacyCodec(kind.GroupVersion())
		stored := encode(t, codec, first)
		second := decode(codecs, kind, stored)
		if second == nil {
			t.Fatalf("%s: what was written cannot be read: %s", kind.Kind, stored)
		}
		third := decode(codecs, kind, encode(t, codec, second))
		if !apiequality.Semantic.DeepEqual(second, third) {
			t.Fatalf("%s: -written +read and written again:\n%s", kind.Kind, cmp.Diff(second, third))
		}
		fourth := decode(codecs, kind, encode(t, codecs.CodecForVersions(proto, proto, kind.GroupVersion(), nil), second))
		if !apiequality.Semantic.DeepEqual(second, fourth) {
			t.Fatalf("%s: -JSON +protobuf:\n%s", kind.Kind, cmp.Diff(second, fourth))
		}
	})
}

// decode decodes as the server does: the path of a request determines the kind. It returns nil for input that the server rejects.
func decode(codecs serializer.CodecFactory, kind schema.GroupVersionKind, data []byte) runtime.Object {
	object, _, err := codecs.UniversalDecoder(kind.GroupVersion()).Decode(data, &kind, nil)
	if err != nil {
		return nil
	}
	return object
}

// isOwn reports whether an object is one of the four kinds: the data may name any kind of the scheme.
func isOwn(scheme *runtime.Scheme, object runtime.Object) bool {
	found, _, err := scheme.ObjectKinds(object)
	return err == nil && slices.Contains(kinds(), found[0])
}

func encode(t *testing.T, codec runtime.Encoder, object runtime.Object) []byte {
	t.Helper()
	var data bytes.Buffer
	if err := codec.Encode(object, &data); err != nil {
		t.Fatalf("cannot encode %+v: %v", object, err)
	}
	return data.Bytes()
}
