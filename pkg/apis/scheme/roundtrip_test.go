// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package scheme

import (
	"bytes"
	"math/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/apitesting/roundtrip"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/randfill"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// fuzzers fill the kinds that have a normal form at random, and bring them to it: decoding does so too.
func fuzzers(serializer.CodecFactory) []any {
	return []any{
		func(p *gardenerv1beta1.Project, c randfill.Continue) {
			c.FillNoCustom(p)
			gardenerv1beta1.NormalizeProject(p)
		},
		func(b *gimbalv1.DiscoveryBackend, c randfill.Continue) {
			c.FillNoCustom(b)
			gimbalv1.Normalize(b)
		},
		func(k *kubernikusv1.Kluster, c randfill.Continue) {
			c.FillNoCustom(k)
			kubernikusv1.NormalizeKluster(k)
		},
	}
}

// TestRoundTrip checks the conversions of the server: hub → version → JSON or protobuf → version → hub.
func TestRoundTrip(t *testing.T) {
	roundtrip.RoundTripProtobufTestForScheme(t, newServerScheme(t), fuzzers)
}

// TestRoundTripOfClients checks the conversions of a typed client: version → JSON or protobuf → version.
func TestRoundTripOfClients(t *testing.T) {
	scheme := newScheme(t)
	codecs := serializer.NewCodecFactory(scheme)
	filler := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, fuzzers), rand.NewSource(rand.Int63()), codecs)
	roundtrip.RoundTripExternalTypes(t, scheme, codecs, filler, nil)
}

// TestRoundTripToUnstructured checks the conversions of kubectl and the garbage collector: version → JSON or CBOR → unstructured →
// JSON or CBOR → version.
func TestRoundTripToUnstructured(t *testing.T) {
	scheme := newScheme(t)
	direct := sets.New[schema.GroupVersionKind]()
	for kind := range scheme.AllKnownTypes() {
		direct.Insert(kind) // there is no other internal type to start from
	}
	roundtrip.RoundtripToUnstructured(t, scheme, fuzzers, nil, direct)
}

// TestRoundTripOfYAML checks the conversions of a manifest: version → YAML → version.
func TestRoundTripOfYAML(t *testing.T) {
	scheme := newScheme(t)
	codecs := serializer.NewCodecFactory(scheme)
	yaml := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true})
	seed := time.Now().UnixNano()
	filler := fuzzer.FuzzerFor(fuzzer.MergeFuzzerFuncs(metafuzzer.Funcs, fuzzers), rand.NewSource(seed), codecs)
	for _, kind := range kinds() {
		for range *roundtrip.FuzzIters {
			object, err := scheme.New(kind)
			if err != nil {
				t.Fatal(err)
			}
			filler.Fill(object)
			object.GetObjectKind().SetGroupVersionKind(kind)
			var data bytes.Buffer
			if err := yaml.Encode(object, &data); err != nil {
				t.Fatal(err)
			}
			decoded, err := runtime.Decode(yaml, data.Bytes())
			if err != nil {
				t.Fatalf("%s: %v (seed %d)\n%s", kind.Kind, err, seed, data.String())
			}
			if !apiequality.Semantic.DeepEqual(object, decoded) {
				t.Fatalf("%s (seed %d): -encoded +decoded:\n%s", kind.Kind, seed, cmp.Diff(object, decoded))
			}
		}
	}
}
