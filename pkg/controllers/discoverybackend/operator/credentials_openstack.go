// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"

	"k8s.io/client-go/util/cert"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

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

func judgeOpenStack(data map[string][]byte) ([]string, error) {
	var keys []string
	if bundle, ok := data[keyCAData]; ok {
		if _, err := cert.ParseCertsPEM(bundle); err != nil {
			return nil, fmt.Errorf("key %q has no certificate in PEM", keyCAData)
		}
		keys = append(keys, keyCAData)
	}
	if _, ok := data[keyClouds]; ok {
		more, err := judgeClouds(data)
		return append(keys, more...), err
	}
	if err := openstack.CheckAuthURL(string(data[keyAuthURL])); err != nil {
		return nil, fmt.Errorf("key %q %w", keyAuthURL, err)
	}
	needed := []string{keyUsername, keyPassword, keyTenantName}
	unused := []string{keyApplicationID, keyApplicationSecret}
	if has(data, keyApplicationID) || has(data, keyApplicationSecret) {
		needed, unused = []string{keyApplicationID, keyApplicationSecret}, []string{keyUsername, keyPassword, keyTenantName, keyUserDomain}
	}
	for _, key := range needed {
		if !has(data, key) {
			return nil, fmt.Errorf("has no key %q: it is required with %q", key, keyAuthURL)
		}
	}
	for _, key := range unused {
		if has(data, key) {
			return nil, fmt.Errorf("has both an application credential and key %q: remove one of them", key)
		}
	}
	keys = append(append(keys, keyAuthURL), needed...)
	for _, key := range []string{keyRegion, keyUserDomain} {
		if has(data, key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// judgeClouds checks a clouds.yaml as the discoverer does.
func judgeClouds(data map[string][]byte) ([]string, error) {
	if has(data, keyAuthURL) {
		return nil, fmt.Errorf("has both %q and %q: remove one of them", keyClouds, keyAuthURL)
	}
	quoted := func(key string) string { return fmt.Sprintf("key %q", key) }
	places := openstack.CloudPlaces{File: quoted(keyClouds), Name: quoted(keyCloud), CA: quoted(keyCAData),
		HasCA: has(data, keyCAData)}
	if _, err := openstack.ChooseCloud(data[keyClouds], string(data[keyCloud]), places); err != nil {
		return nil, err
	}
	if has(data, keyCloud) {
		return []string{keyClouds, keyCloud}, nil
	}
	return []string{keyClouds}, nil
}

func has(data map[string][]byte, key string) bool { return len(data[key]) > 0 }
