// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/client-go/util/cert"
)

// at begins an error with the line of a field.
func at(value cloudValue, text string) error { return fmt.Errorf("line %d: %s", value.line, text) }

func (c cloud) checkURL(_ *Credentials, _ CloudPlaces) error {
	url, profile := c.auth["auth_url"], c.top["profile"]
	if profile == (cloudValue{}) {
		profile = c.top["cloud"]
	}
	switch {
	case url.text == "" && profile.text != "":
		return at(profile, "the profile of a vendor is not read: add auth.auth_url")
	case url.text == "":
		return errors.New("has no auth.auth_url")
	}
	if err := CheckAuthURL(strings.TrimSpace(url.text)); err != nil {
		return at(url, "auth.auth_url "+err.Error())
	}
	return nil
}

// checkTLS reads how the certificate of the cloud is verified. A CA in PEM may stand in cacert itself; a path is of the machine of
// the author, and of no account when the CA is in its own place.
func (c cloud) checkTLS(read *Credentials, places CloudPlaces) error {
	for _, name := range []string{"cert", "key"} {
		if value := c.top[name]; value.text != "" {
			return at(value, name+" names a file with a client certificate, which only its author has: use a password or an application credential")
		}
	}
	ca, verify := c.top["cacert"], c.top["verify"]
	if ca.text != "" && !places.HasCA {
		if _, err := cert.ParseCertsPEM([]byte(ca.text)); err != nil {
			return at(ca, "cacert names a file, which only its author has: put the CA into "+places.CA)
		}
		read.CACert = ca.text
	}
	switch strings.ToLower(verify.text) {
	case "", "true", "yes", "on":
		return nil
	case "false", "no", "off":
	default:
		return at(verify, "verify must be true or false")
	}
	switch {
	case !places.AllowInsecure:
		return at(verify, "turns verification off: remove verify, and put the CA into "+places.CA)
	case ca.text != "" || places.HasCA:
		return at(verify, "verify is false, and there is a CA as well: remove one of them")
	}
	read.Insecure = true
	return nil
}

func (c cloud) checkTop(read *Credentials, _ CloudPlaces) error {
	version := c.top["identity_api_version"]
	switch {
	case version.text != "" && !slices.Contains([]string{"3", "v3", "3.0"}, version.text):
		return at(version, "identity_api_version must be 3")
	case c.top["interface"].text != "" && c.top["endpoint_type"].text != "":
		return at(c.top["endpoint_type"], "has both interface and endpoint_type: remove one of them")
	case !slices.Contains([]string{"", "public", "internal", "admin"}, read.Interface):
		return at(cloudValue{line: c.top["interface"].line + c.top["endpoint_type"].line}, "interface must be public, internal or admin")
	case len(c.regions) > 0 && read.Region != "" && !slices.Contains(c.regions, read.Region):
		return at(c.top["region_name"], "region_name is not among regions")
	}
	return nil
}

func (c cloud) checkAuth(read *Credentials, _ CloudPlaces) error {
	kind := c.top["auth_type"]
	password, application := []string{"password", "v3password"}, []string{"v3applicationcredential"}
	switch {
	case kind.text != "" && !slices.Contains(append(password, application...), kind.text):
		return at(kind, "auth_type must be password or v3applicationcredential")
	case read.application() && slices.Contains(password, kind.text):
		return at(kind, "has auth_type password and an application credential: remove one of them")
	case !read.application() && slices.Contains(application, kind.text):
		return at(kind, "has auth_type v3applicationcredential and no auth.application_credential_id")
	case read.application() && (read.Password != "" || read.ProjectID != "" || read.ProjectName != ""):
		return errors.New("has both an application credential and a password or a project: remove one of them")
	}
	if field := read.missing(func(field string) string { return field }); field != "" {
		return fmt.Errorf("has no auth.%s", field)
	}
	return nil
}
