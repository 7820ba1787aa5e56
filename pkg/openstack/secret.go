// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/client-go/util/cert"
)

// Keys of a Secret that say how to reach OpenStack, besides Kubernikus' own.
const (
	// KeyClouds is a clouds.yaml, and KeyCloud chooses one of several clouds in it.
	KeyClouds = "clouds.yaml"
	KeyCloud  = "cloud"
	// KeyRegion is the region in place of region_name in the clouds.yaml.
	KeyRegion = "cloud-region"
	// KeyCACert are CAs in PEM, for a cloud whose certificate no public CA has signed.
	KeyCACert = "cacert"
)

// kubernikusPrefix begins the keys of Kubernikus, and keyAuthURL is the one that shows that they are used.
const (
	kubernikusPrefix = "openstack-"
	keyAuthURL       = kubernikusPrefix + "auth-url"
)

// CredentialsOf reads the credentials in the data of a Secret: key clouds.yaml, or the keys of Kubernikus. Its errors
// name keys and fields and never repeat a value.
func CredentialsOf(data map[string][]byte) (Credentials, error) {
	clouds, kubernikus := len(data[KeyClouds]) > 0, len(data[keyAuthURL]) > 0
	bundle := data[KeyCACert]
	if len(bytes.TrimSpace(bundle)) == 0 {
		bundle = nil // Cluster API writes the key in any case
	}
	var c Credentials
	var err error
	switch {
	case clouds && kubernikus:
		err = fmt.Errorf("has both key %q and key %q: remove one of them", KeyClouds, keyAuthURL)
	case clouds:
		places := CloudPlaces{File: quotedKey(KeyClouds), Name: quotedKey(KeyCloud), CA: quotedKey(KeyCACert),
			HasCA: len(bundle) > 0, AllowInsecure: true}
		c, err = ChooseCloud(data[KeyClouds], string(data[KeyCloud]), places)
		c.Region = cmp.Or(strings.TrimSpace(string(data[KeyRegion])), c.Region)
	case kubernikus:
		c, err = fromKubernikus(data)
	default:
		err = fmt.Errorf("has neither key %q nor key %q: set one of them", KeyClouds, keyAuthURL)
	}
	if err != nil {
		return Credentials{}, err
	}
	if len(bundle) > 0 {
		if _, err := cert.ParseCertsPEM(bundle); err != nil {
			return Credentials{}, fmt.Errorf("key %q has no certificate in PEM", KeyCACert)
		}
		c.CACert = string(bundle)
	}
	return c, nil
}

// quotedKey is how an error calls a key.
func quotedKey(key string) string { return fmt.Sprintf("key %q", key) }

// fromKubernikus reads the keys of Kubernikus. A key that begins like one and is none is an error to report.
func fromKubernikus(data map[string][]byte) (Credentials, error) {
	var c Credentials
	fields := map[string]*string{
		"auth-url": &c.AuthURL, "region": &c.Region, "username": &c.Username, "password": &c.Password,
		"domain-name": &c.UserDomainName, "user-domain-id": &c.UserDomainID,
		"project-id": &c.ProjectID, "project-name": &c.ProjectName,
		"project-domain-name": &c.ProjectDomainName, "project-domain-id": &c.ProjectDomainID,
	}
	var unknown []string
	for key, value := range data {
		name, own := strings.CutPrefix(key, kubernikusPrefix)
		if field := fields[name]; own && field != nil {
			// An editor leaves a line end, which belongs to no value but perhaps a password.
			if *field = string(value); name != "password" {
				*field = strings.TrimSpace(*field)
			}
		} else if own {
			unknown = append(unknown, key)
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return c, fmt.Errorf("has the key %q, which is not one of Kubernikus' keys: remove it", unknown[0])
	}
	if err := CheckAuthURL(c.AuthURL); err != nil {
		return c, fmt.Errorf("key %q %w", keyAuthURL, err)
	}
	name := func(field string) string {
		// Kubernikus calls the domain of the user just the domain.
		return kubernikusPrefix + strings.ReplaceAll(strings.Replace(field, "user_domain_name", "domain_name", 1), "_", "-")
	}
	if key := c.missing(name); key != "" {
		return c, fmt.Errorf("has no key %q: it is required with %q", key, keyAuthURL)
	}
	return c, nil
}

// CheckAuthURL wants the URL of a server, and no credentials in it, which would end up in logs. Its error follows the place where
// the URL is from, and does not repeat it.
func CheckAuthURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return errors.New("is not an http or https URL of Keystone, like https://keystone.example.com/v3, without credentials in it")
	}
	return nil
}

// CheckPlainHTTP rejects a URL of Keystone over plain HTTP unless that is allowed. Its error follows the place where the URL is from.
func CheckPlainHTTP(authURL string, allow bool) error {
	if u, err := url.Parse(authURL); allow || err == nil && u.Scheme != "http" {
		return nil
	}
	return errors.New("is plain http, which sends the password and tokens in clear text: use https, or set " +
		"controllers.credentials.allowPlainHTTP in the configuration of the controller manager (--allow-plain-http of a discoverer)")
}

// placeOfURL is how an error calls the place of the URL of Keystone in the data of a Secret.
func placeOfURL(data map[string][]byte) string {
	if len(data[keyAuthURL]) > 0 {
		return quotedKey(keyAuthURL)
	}
	return quotedKey(KeyClouds) + ": auth.auth_url"
}

// hostOf returns the host and port of a URL: what all Secrets of one cloud have in common.
func hostOf(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}
