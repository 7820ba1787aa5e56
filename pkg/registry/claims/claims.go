// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"fmt"
	"path"
	"strings"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/storage/etcd3"
	"k8s.io/apiserver/pkg/storage/value"
)

// Config specifies where the objects of one resource are stored and how they are read.
type Config struct {
	Rule Rule
	// KV reaches etcd.
	KV clientv3.KV
	// Prefix is the prefix of all keys of the server (--etcd-prefix).
	Prefix string
	// Resource is the resource whose objects take names.
	Resource schema.GroupResource
	// Transformer and Decoder read a stored object, as the store of the resource does.
	Transformer value.Transformer
	Decoder     etcd3.Decoder
	// NewFunc returns an empty object of the resource.
	NewFunc func() runtime.Object
}

// Claims are the names that the objects of one resource hold. Client and Storage put them into the
// transactions of the objects; both are needed.
type Claims struct {
	Config
	prefix string // of every key of the server, without the closing slash
	root   string // of every claim of the resource, with it
}

// New returns the claims of one resource.
func New(config Config) *Claims {
	prefix := strings.TrimSuffix(path.Join("/", config.Prefix), "/")
	return &Claims{
		Config: config,
		prefix: prefix,
		root:   prefix + "/claims/" + config.Resource.Group + "/" + config.Resource.Resource + "/",
	}
}

// claim returns the etcd key of the claim of a name.
func (c *Claims) claim(name string) string { return c.root + name + c.Rule.Separator }

func (c *Claims) claimed(claim string) string {
	return strings.TrimSuffix(strings.TrimPrefix(claim, c.root), c.Rule.Separator)
}

// object returns the etcd key of an object whose storage key is known.
func (c *Claims) object(key string) string { return c.prefix + "/" + strings.TrimPrefix(key, "/") }

// holds reports whether the holder of a claim lives and still yields the name, and the revision of the holder that it read (0:
// there is none). A holder that cannot be read is an error: it might.
func (c *Claims) holds(ctx context.Context, claim *mvccpb.KeyValue) (bool, int64, error) {
	holder, name := string(claim.Value), c.claimed(string(claim.Key))
	found, err := c.KV.Get(ctx, holder)
	if err != nil {
		return false, 0, fmt.Errorf("name %q: read its holder %s: %w", name, holder, err)
	}
	if len(found.Kvs) == 0 {
		return false, 0, nil
	}
	kv := found.Kvs[0]
	data, _, err := c.Transformer.TransformFromStorage(ctx, kv.Value, value.DefaultContext(holder))
	if err != nil {
		return false, 0, fmt.Errorf("name %q: decrypt its holder %s: %w", name, holder, err)
	}
	obj := c.NewFunc()
	if err := c.Decoder.Decode(data, obj, kv.ModRevision); err != nil {
		return false, 0, fmt.Errorf("name %q: decode its holder %s: %w", name, holder, err)
	}
	return c.Rule.Name(obj) == name, kv.ModRevision, nil
}
