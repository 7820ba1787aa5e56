// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"errors"
	"fmt"
	"net/url"

	"k8s.io/client-go/util/cert"
	"sigs.k8s.io/yaml"
)

// Keys of an openstack backend's Secret. Those without a comment are the original's.
const (
	keyAuthURL              = "auth-url"
	keyUsername             = "username"
	keyPassword             = "password"
	keyTenantName           = "tenant-name"
	keyCertificateAuthority = "certificate-authority-data"
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
	if authorities, ok := data[keyCertificateAuthority]; ok {
		if _, err := cert.ParseCertsPEM(authorities); err != nil {
			return nil, fmt.Errorf("key %q has no certificate in PEM", keyCertificateAuthority)
		}
		keys = append(keys, keyCertificateAuthority)
	}
	if _, ok := data[keyClouds]; ok {
		more, err := judgeClouds(data)
		return append(keys, more...), err
	}
	if err := checkAuthURL(string(data[keyAuthURL])); err != nil {
		return nil, fmt.Errorf("key %q %w", keyAuthURL, err)
	}
	needed := []string{keyUsername, keyPassword, keyTenantName}
	unused := []string{keyApplicationID, keyApplicationSecret}
	if has(data, keyApplicationID) || has(data, keyApplicationSecret) {
		needed, unused = []string{keyApplicationID, keyApplicationSecret}, []string{keyUsername, keyPassword, keyTenantName, keyUserDomain}
	}
	for _, key := range needed {
		if !has(data, key) {
			return nil, fmt.Errorf("has no key %q: it goes with %q", key, keyAuthURL)
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

// judgeClouds looks at a clouds.yaml. Its errors repeat nothing of the file, which may have a password anywhere.
func judgeClouds(data map[string][]byte) ([]string, error) {
	if has(data, keyAuthURL) {
		return nil, fmt.Errorf("has both %q and %q: remove one of them", keyClouds, keyAuthURL)
	}
	file := struct {
		Clouds map[string]struct {
			Auth struct {
				AuthURL string `json:"auth_url"`
			} `json:"auth"`
			CACert string `json:"cacert"`
			Cert   string `json:"cert"`
			Key    string `json:"key"`
		} `json:"clouds"`
	}{}
	if err := yaml.Unmarshal(data[keyClouds], &file); err != nil {
		return nil, fmt.Errorf("key %q is not a clouds.yaml", keyClouds)
	}
	keys, chosen := []string{keyClouds}, ""
	switch {
	case has(data, keyCloud):
		keys, chosen = append(keys, keyCloud), string(data[keyCloud])
	case len(file.Clouds) != 1:
		return nil, fmt.Errorf("key %q has %d clouds: name one in key %q", keyClouds, len(file.Clouds), keyCloud)
	default:
		for chosen = range file.Clouds {
		}
	}
	cloud, ok := file.Clouds[chosen]
	switch {
	case !ok:
		return nil, fmt.Errorf("key %q names no cloud of key %q", keyCloud, keyClouds)
	case cloud.CACert != "" || cloud.Cert != "" || cloud.Key != "":
		return nil, fmt.Errorf("key %q names files with certificates or keys, which the discoverer does not have: put the authority into key %q", keyClouds, keyCertificateAuthority)
	}
	if err := checkAuthURL(cloud.Auth.AuthURL); err != nil {
		return nil, fmt.Errorf("key %q: auth.auth_url %w", keyClouds, err)
	}
	return keys, nil
}

func checkAuthURL(text string) error {
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "https" && parsed.Scheme != "http" || parsed.Hostname() == "" || parsed.User != nil {
		return errors.New("is not an http or https URL with a host and without credentials")
	}
	return nil
}

func has(data map[string][]byte, key string) bool { return len(data[key]) > 0 }
