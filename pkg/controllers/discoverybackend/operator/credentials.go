// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/remote/kubeconfig"
)

// keyKubeconfig is the key of a kubernetes backend's Secret.
const keyKubeconfig = "config"

// credentials is what is known of a Secret. Nothing of its content is kept.
type credentials struct {
	// reason and problem report why the Secret cannot be used, in words that repeat nothing of it. Empty: it can.
	reason, problem string
	// keys are the keys that the discoverer is given, in order.
	keys []string
	// digest changes when the values of those keys do.
	digest string
}

// usable reports whether a discoverer may be started with them.
func (c credentials) usable() bool { return c.problem == "" }

// judge reports whether the content of a Secret can be used for a backend. The salt makes the digests of two backends with the same
// credentials differ.
func judge(kind gimbalv1.BackendType, data map[string][]byte, salt string) credentials {
	var keys []string
	var err error
	switch kind {
	case gimbalv1.BackendKubernetes:
		keys, err = judgeKubernetes(data)
	case gimbalv1.BackendOpenStack:
		keys, err = judgeOpenStack(data)
	default:
		err = fmt.Errorf("nothing is known of backends of type %q", kind)
	}
	if err != nil {
		return credentials{reason: reasonSecretInvalid, problem: err.Error()}
	}
	slices.Sort(keys)
	return credentials{keys: keys, digest: digest(data, keys, salt)}
}

func judgeKubernetes(data map[string][]byte) ([]string, error) {
	if len(data[keyKubeconfig]) == 0 {
		return nil, fmt.Errorf("has no key %q: put a kubeconfig there", keyKubeconfig)
	}
	if err := kubeconfig.Check(data[keyKubeconfig]); err != nil {
		return nil, fmt.Errorf("key %q: %w", keyKubeconfig, err)
	}
	return []string{keyKubeconfig}, nil
}

// digest is over the lengths, too, so that nothing can move from one value to the next.
func digest(data map[string][]byte, keys []string, salt string) string {
	hash := sha256.New()
	add := func(value []byte) {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(value)))
		hash.Write(length[:])
		hash.Write(value)
	}
	add([]byte(salt))
	for _, key := range keys {
		add([]byte(key))
		add(data[key])
	}
	return hex.EncodeToString(hash.Sum(nil)[:16])
}
