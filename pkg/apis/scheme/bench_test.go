// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package scheme

import (
	"bytes"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// BenchmarkCodec encodes and decodes what is stored and served most: a Project with three members, and the Translation of a
// pod with two resources.
func BenchmarkCodec(b *testing.B) {
	codecs := serializer.NewCodecFactory(newScheme(b))
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: gardenerv1beta1.ProjectSpec{Namespace: new("garden-shop")}}
	for i := range 3 {
		member := gardenerv1beta1.ProjectMember{Role: "admin"}
		member.Kind, member.Name = "User", fmt.Sprint("user", i)
		project.Spec.Members = append(project.Spec.Members, member)
	}
	translation := &midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "pod.4.web-0"}}
	for _, kind := range []string{"Port", "HostInterfacePort"} {
		translation.Resources = append(translation.Resources, midonetv1.BackendResource{Kind: kind, Parent: "13fb0355-e2d9-5a9f-83a6-1efd43edebbc", Body: `{"id":"1"}`})
	}
	for _, object := range []struct {
		name   string
		object runtime.Object
		codec  func(mediaType string) runtime.Codec
	}{
		{"Project", project, func(media string) runtime.Codec {
			info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), media)
			return codecs.CodecForVersions(info.Serializer, info.Serializer, gardenerv1beta1.SchemeGroupVersion, gardenerv1beta1.SchemeGroupVersion)
		}},
		{"Translation", translation, func(media string) runtime.Codec {
			info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), media)
			return codecs.CodecForVersions(info.Serializer, info.Serializer, midonetv1.SchemeGroupVersion, midonetv1.SchemeGroupVersion)
		}},
	} {
		for _, encoding := range []struct{ name, media string }{{"JSON", runtime.ContentTypeJSON}, {"protobuf", runtime.ContentTypeProtobuf}} {
			name, codec := encoding.name, object.codec(encoding.media)
			var encoded bytes.Buffer
			if err := codec.Encode(object.object, &encoded); err != nil {
				b.Fatal(err)
			}
			b.Run("encode/"+object.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if err := codec.Encode(object.object, &bytes.Buffer{}); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("decode/"+object.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, _, err := codec.Decode(encoded.Bytes(), nil, nil); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
