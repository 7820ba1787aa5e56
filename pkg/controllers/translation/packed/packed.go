// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package packed stores Translations in a compact form: a cache has up to 100,000 of them, and they are rarely read. These take 38 MiB of
// live heap, and 211 MiB as Go objects, with which the process would exceed 400 MiB.
package packed

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/objectmeta"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// Translation is a Translation as a cache keeps it, less its managed fields: its name and version, and all of it as compressed
// protobuf. To a cache it is an object like any other, whose deep copy is the Translation itself, so that readers of the cache get
// that. It cannot be changed.
type Translation struct {
	objectmeta.ReadOnly
	namespace, name, version, text string
}

var _ client.Object = (*Translation)(nil)

// Pack returns the packed form of a Translation, which it leaves unchanged.
func Pack(translation *midonetv1.Translation) (*Translation, error) {
	whole := *translation
	whole.ManagedFields = nil
	text, err := whole.Marshal()
	if err != nil {
		return nil, fmt.Errorf("pack translation %s: %w", client.ObjectKeyFromObject(translation), err)
	}
	return &Translation{
		namespace: kit.Intern(translation.Namespace), name: translation.Name, version: translation.ResourceVersion, text: deflate(text),
	}, nil
}

// Transform returns the transform function of a cache of Translations. Other values are returned unchanged: packed Translations,
// and the DeletedFinalStateUnknown of the cache.
func Transform(object any) (any, error) {
	if translation, ok := object.(*midonetv1.Translation); ok {
		return Pack(translation)
	}
	return object, nil
}

// Unpack returns the Translation, which is the caller's.
func (t *Translation) Unpack() *midonetv1.Translation {
	whole := &midonetv1.Translation{}
	t.read(whole.Unmarshal)
	return whole
}

// Numbers of the fields in protobuf.
const (
	metadataField        = 1
	resourcesField       = 2
	statusField          = 3
	statusResourcesField = 3
)

// Resources returns the wanted resources, which are the caller's. It allocates a quarter of what Unpack does.
func (t *Translation) Resources() []midonetv1.BackendResource {
	var resources []midonetv1.BackendResource
	t.read(func(text []byte) error {
		return eachField(text, func(number protowire.Number, _, value []byte) error {
			if number != resourcesField {
				return nil
			}
			resources = append(resources, midonetv1.BackendResource{})
			return resources[len(resources)-1].Unmarshal(value)
		})
	})
	return resources
}

// Head returns the Translation without its resources and their status, which are nearly all of it. It is the caller's.
func (t *Translation) Head() *midonetv1.Translation {
	head := &midonetv1.Translation{}
	t.read(func(text []byte) error {
		return eachField(text, func(number protowire.Number, _, value []byte) error {
			switch number {
			case metadataField:
				return head.ObjectMeta.Unmarshal(value)
			case statusField:
				return eachField(value, func(number protowire.Number, field, _ []byte) error {
					if number == statusResourcesField {
						return nil
					}
					return head.Status.Unmarshal(field) // which adds to the fields that were read before
				})
			}
			return nil
		})
	})
	return head
}

// eachField calls a function with each field of a message: its number, the whole field, and its value if that has a length.
func eachField(text []byte, do func(number protowire.Number, field, value []byte) error) error {
	for len(text) > 0 {
		number, kind, length := protowire.ConsumeField(text)
		if length < 0 {
			return protowire.ParseError(length)
		}
		field := text[:length]
		var value []byte
		if kind == protowire.BytesType {
			_, _, tag := protowire.ConsumeTag(field)
			value, _ = protowire.ConsumeBytes(field[tag:])
		}
		if err := do(number, field, value); err != nil {
			return err
		}
		text = text[length:]
	}
	return nil
}

// read has a function read the text.
func (t *Translation) read(unmarshal func([]byte) error) {
	if err := inflate(t.text, unmarshal); err != nil {
		panic(fmt.Sprintf("unpack translation %s: %v", t.Key(), err)) // no other client wrote it
	}
}

// Of returns the Translation in an object from a cache, packed or not; nil for any other object. The caller must not change it.
func Of(object any) *midonetv1.Translation {
	switch object := object.(type) {
	case *Translation:
		return object.Unpack()
	case *midonetv1.Translation:
		return object
	default:
		return nil
	}
}

// Metadata returns the metadata of the Translation that an object from a cache is, packed or not; nil when it is
// something else. It is not to be changed, and allocates half of what Of does.
func Metadata(object any) metav1.Object {
	switch object := object.(type) {
	case *Translation:
		only := &metav1.PartialObjectMetadata{} // which skips the rest
		object.read(only.Unmarshal)
		return only
	case *midonetv1.Translation:
		return object
	default:
		return nil
	}
}

// As returns an object from a cache in the packed form, whether it was packed or not. It fails when the object is
// something else.
func As(object client.Object) (*Translation, error) {
	switch object := object.(type) {
	case *Translation:
		return object, nil
	case *midonetv1.Translation:
		return Pack(object)
	default:
		return nil, fmt.Errorf("a %T is no Translation", object)
	}
}

// Key returns the namespace and name.
func (t *Translation) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: t.namespace, Name: t.name}
}

// DeepCopyObject implements runtime.Object: it is the Translation.
func (t *Translation) DeepCopyObject() runtime.Object { return t.Unpack() }

// The following methods implement client.Object. Caches call the first three frequently.

// GetNamespace implements metav1.Object.
func (t *Translation) GetNamespace() string { return t.namespace }

// GetName implements metav1.Object.
func (t *Translation) GetName() string { return t.name }

// GetResourceVersion implements metav1.Object.
func (t *Translation) GetResourceVersion() string { return t.version }

// GetGenerateName implements metav1.Object.
func (t *Translation) GetGenerateName() string { return t.Unpack().GenerateName }

// GetUID implements metav1.Object.
func (t *Translation) GetUID() types.UID { return t.Unpack().UID }

// GetGeneration implements metav1.Object.
func (t *Translation) GetGeneration() int64 { return t.Unpack().Generation }

// GetCreationTimestamp implements metav1.Object.
func (t *Translation) GetCreationTimestamp() metav1.Time { return t.Unpack().CreationTimestamp }

// GetDeletionTimestamp implements metav1.Object.
func (t *Translation) GetDeletionTimestamp() *metav1.Time { return t.Unpack().DeletionTimestamp }

// GetDeletionGracePeriodSeconds implements metav1.Object.
func (t *Translation) GetDeletionGracePeriodSeconds() *int64 {
	return t.Unpack().DeletionGracePeriodSeconds
}

// GetLabels implements metav1.Object.
func (t *Translation) GetLabels() map[string]string { return t.Unpack().Labels }

// GetAnnotations implements metav1.Object.
func (t *Translation) GetAnnotations() map[string]string { return t.Unpack().Annotations }

// GetFinalizers implements metav1.Object.
func (t *Translation) GetFinalizers() []string { return t.Unpack().Finalizers }

// GetOwnerReferences implements metav1.Object.
func (t *Translation) GetOwnerReferences() []metav1.OwnerReference { return t.Unpack().OwnerReferences }

// GetObjectKind implements runtime.Object. Like other objects of a cache it does not know its kind.
func (t *Translation) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
