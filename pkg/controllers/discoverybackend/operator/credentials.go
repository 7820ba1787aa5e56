// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/cert"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
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
	// flag is the one that lets the discoverer use what was allowed, "" if it needs none.
	flag string
	// digest changes when the values of those keys do.
	digest string
}

// usable reports whether a discoverer may be started with them.
func (c credentials) usable() bool { return c.problem == "" }

// judge reports whether the content of a Secret can be used for a backend. The salt makes the digests of two backends with the same
// credentials differ.
func judge(kind gimbalv1.BackendType, data map[string][]byte, allowed configv1alpha1.CredentialsConfiguration, salt string) credentials {
	var keys []string
	var flag string
	var err error
	switch kind {
	case gimbalv1.BackendKubernetes:
		if keys, err = judgeKubernetes(data, *allowed.AllowProxyURL); err == nil && kubeconfig.Check(data[keyKubeconfig], false) != nil {
			flag = "allow-proxy-url"
		}
	case gimbalv1.BackendOpenStack:
		var authURL string
		if keys, authURL, err = judgeOpenStack(data, *allowed.AllowPlainHTTP); err == nil && openstack.CheckPlainHTTP(authURL, false) != nil {
			flag = "allow-plain-http"
		}
	default:
		err = fmt.Errorf("nothing is known of backends of type %q", kind)
	}
	if err != nil {
		return credentials{reason: reasonSecretInvalid, problem: err.Error()}
	}
	slices.Sort(keys)
	return credentials{keys: keys, flag: flag, digest: digest(data, keys, salt)}
}

func judgeKubernetes(data map[string][]byte, allowProxy bool) ([]string, error) {
	if len(data[keyKubeconfig]) == 0 {
		return nil, fmt.Errorf("has no key %q: put a kubeconfig there", keyKubeconfig)
	}
	if err := kubeconfig.Check(data[keyKubeconfig], allowProxy); err != nil {
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

// Keys of an openstack backend's Secret. Those without a comment are the original's.
const (
	keyAuthURL    = "auth-url"
	keyUsername   = "username"
	keyPassword   = "password"
	keyTenantName = "tenant-name"
	keyCAData     = "certificate-authority-data"
	// keyClouds is a whole clouds.yaml instead of single values, and keyCloud chooses one of several clouds.
	keyClouds = "clouds.yaml"
	keyCloud  = "cloud"
	// An application credential stands for user and project.
	keyApplicationID     = "application-credential-id"
	keyApplicationSecret = "application-credential-secret"
	// keyRegion and keyUserDomain complete the original's keys, for clouds that have several.
	keyRegion     = "region"
	keyUserDomain = "user-domain-name"
)

// environment gives each key the variable that the discoverer reads. Certificates and clouds.yaml are files.
func environment() []struct{ key, variable string } {
	return []struct{ key, variable string }{
		{keyApplicationID, "OS_APPLICATION_CREDENTIAL_ID"},
		{keyApplicationSecret, "OS_APPLICATION_CREDENTIAL_SECRET"},
		{keyAuthURL, "OS_AUTH_URL"},
		{keyCloud, "OS_CLOUD"},
		{keyPassword, "OS_PASSWORD"},
		{keyRegion, "OS_REGION_NAME"},
		{keyTenantName, "OS_TENANT_NAME"},
		{keyUserDomain, "OS_USER_DOMAIN_NAME"},
		{keyUsername, "OS_USERNAME"},
	}
}

// judgeOpenStack returns the keys that are used, and the URL of Keystone.
func judgeOpenStack(data map[string][]byte, allowPlainHTTP bool) (keys []string, authURL string, err error) {
	if bundle, ok := data[keyCAData]; ok {
		if _, err := cert.ParseCertsPEM(bundle); err != nil {
			return nil, "", fmt.Errorf("key %q has no certificate in PEM", keyCAData)
		}
		keys = append(keys, keyCAData)
	}
	if _, ok := data[keyClouds]; ok {
		more, authURL, err := judgeClouds(data, allowPlainHTTP)
		return append(keys, more...), authURL, err
	}
	authURL = string(data[keyAuthURL])
	if err := cmp.Or(openstack.CheckAuthURL(authURL), openstack.CheckPlainHTTP(authURL, allowPlainHTTP)); err != nil {
		return nil, "", fmt.Errorf("key %q %w", keyAuthURL, err)
	}
	needed := []string{keyUsername, keyPassword, keyTenantName}
	unused := []string{keyApplicationID, keyApplicationSecret}
	if has(data, keyApplicationID) || has(data, keyApplicationSecret) {
		needed, unused = []string{keyApplicationID, keyApplicationSecret}, []string{keyUsername, keyPassword, keyTenantName, keyUserDomain}
	}
	for _, key := range needed {
		if !has(data, key) {
			return nil, "", fmt.Errorf("has no key %q: it is required with %q", key, keyAuthURL)
		}
	}
	for _, key := range unused {
		if has(data, key) {
			return nil, "", fmt.Errorf("has both an application credential and key %q: remove one of them", key)
		}
	}
	keys = append(append(keys, keyAuthURL), needed...)
	for _, key := range []string{keyRegion, keyUserDomain} {
		if has(data, key) {
			keys = append(keys, key)
		}
	}
	return keys, authURL, nil
}

// judgeClouds checks a clouds.yaml as the discoverer does.
func judgeClouds(data map[string][]byte, allowPlainHTTP bool) (keys []string, authURL string, err error) {
	if has(data, keyAuthURL) {
		return nil, "", fmt.Errorf("has both %q and %q: remove one of them", keyClouds, keyAuthURL)
	}
	quoted := func(key string) string { return fmt.Sprintf("key %q", key) }
	places := openstack.CloudPlaces{File: quoted(keyClouds), Name: quoted(keyCloud), CA: quoted(keyCAData),
		HasCA: has(data, keyCAData)}
	chosen, err := openstack.ChooseCloud(data[keyClouds], string(data[keyCloud]), places)
	if err != nil {
		return nil, "", err
	}
	if err := openstack.CheckPlainHTTP(chosen.AuthURL, allowPlainHTTP); err != nil {
		return nil, "", fmt.Errorf("key %q: auth.auth_url %w", keyClouds, err)
	}
	if has(data, keyCloud) {
		return []string{keyClouds, keyCloud}, chosen.AuthURL, nil
	}
	return []string{keyClouds}, chosen.AuthURL, nil
}

func has(data map[string][]byte, key string) bool { return len(data[key]) > 0 }

func missingSecret(key types.NamespacedName) credentials {
	return credentials{reason: reasonSecretMissing, problem: fmt.Sprintf(
		"Secret %q does not exist in namespace %q: create it, or name another one in cluster.secret", key.Name, key.Namespace)}
}
