// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// cloud is an entry of a clouds.yaml with the fields that Groundskeeper uses or rejects. Source:
// https://docs.openstack.org/openstacksdk/latest/user/config/configuration.html
type cloud struct {
	auth map[string]cloudValue
	top  map[string]cloudValue
	// regions are the names in field regions.
	regions []string
	// ignored are the names of fields that are not known.
	ignored []string
}

// cloudValue is a value with the line of its field.
type cloudValue struct {
	text string
	line int
}

// Fields of an entry and of its auth. Those without effect here are known to do no harm.
var (
	authFields = []string{
		"auth_url", "username", "user_id", "password", "user_domain_name", "user_domain_id", "project_id", "project_name",
		"project_domain_name", "project_domain_id", "tenant_id", "tenant_name", "domain_name", "domain_id", "default_domain_name",
		"default_domain_id", "application_credential_id", "application_credential_name", "application_credential_secret",
	}
	topFields = []string{"auth_type", "region_name", "interface", "endpoint_type", "identity_api_version", "verify", "cacert", "cert",
		"key", "profile", "cloud"}
	harmlessFields = []string{"api_timeout", "networks", "floating_ip_source", "force_ipv4", "image_format", "disable_vendor_agent",
		"secgroup_source", "cache", "log_name"}
)

// CloudPlaces are how errors call the places that a clouds.yaml is used with, as `key "cloud"`.
type CloudPlaces struct {
	// File has the clouds.yaml, Name the name of one of its clouds, and CA the CA that signed the certificate of the cloud.
	File, Name, CA string
	// HasCA is true when the CA is there, so that a path in cacert is of no account.
	HasCA bool
	// AllowInsecure is true when the caller warns of verify: false.
	AllowInsecure bool
}

// ChooseCloud reads one cloud of a clouds.yaml: the one of that name, or the only one when there is no name. The others of the file
// are not checked, nor what is beside them, such as anchors. Its errors begin with the place, name the line and never repeat a
// value.
func ChooseCloud(text []byte, name string, places CloudPlaces) (Credentials, error) {
	c, err := chooseCloud(text, strings.TrimSpace(name), places)
	if err != nil {
		return Credentials{}, fmt.Errorf("%s: %w", places.File, err)
	}
	return c, nil
}

func chooseCloud(text []byte, name string, places CloudPlaces) (Credentials, error) {
	document, err := parseClouds(text)
	if err != nil {
		return Credentials{}, err
	}
	fields, err := document.fields()
	if err != nil {
		return Credentials{}, err
	}
	all := fieldNamed(fields, "clouds")
	if all == nil {
		return Credentials{}, errors.New("is not made like a clouds.yaml: it has no clouds")
	}
	clouds, err := all.value.fields()
	if err != nil {
		return Credentials{}, err
	}
	if name == "" {
		if len(clouds) != 1 {
			return Credentials{}, fmt.Errorf("has %d clouds: name one in %s", len(clouds), places.Name)
		}
		name = clouds[0].name
	}
	entry := fieldNamed(clouds, name)
	if entry == nil {
		return Credentials{}, fmt.Errorf("%s names no cloud of it", places.Name)
	}
	chosen, err := readCloud(entry.value)
	if err != nil {
		return Credentials{}, err
	}
	c, err := chosen.credentials(places)
	if err != nil {
		return Credentials{}, fmt.Errorf("the cloud at line %d: %w", entry.line, err)
	}
	return c, nil
}

// readCloud reads an entry. An unknown field is ignored, except for one of auth, which may say who Groundskeeper is.
func readCloud(entry cloudNode) (cloud, error) {
	c := cloud{auth: map[string]cloudValue{}, top: map[string]cloudValue{}}
	fields, err := entry.fields()
	if err != nil {
		return c, err
	}
	for _, field := range fields {
		switch {
		case field.name == "auth":
			err = c.readAuth(field.value)
		case field.name == "regions":
			err = c.readRegions(field)
		case slices.Contains(topFields, field.name):
			err = into(c.top, field)
		case slices.Contains(authFields, field.name) && strings.HasPrefix(field.name, "default_domain"):
			err = into(c.auth, field)
		case slices.Contains(harmlessFields, field.name), strings.HasSuffix(field.name, "_api_version"):
		default:
			c.ignored = append(c.ignored, ignoredName(field))
		}
		if err != nil {
			return c, err
		}
	}
	slices.Sort(c.ignored)
	return c, nil
}

// optionName matches what can be the name of an option, in contrast to one that includes its value because the colon is missing.
var optionName = regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)

// ignoredName is how a field that is ignored is reported.
func ignoredName(field cloudField) string {
	if optionName.MatchString(field.name) {
		return field.name
	}
	return fmt.Sprintf("one in line %d", field.line)
}

func (c *cloud) readAuth(value cloudNode) error {
	fields, err := value.fields()
	if err != nil {
		return err
	}
	for _, field := range fields {
		if !slices.Contains(authFields, field.name) {
			// Not its name: without a colon, the name of a field includes its value.
			return fmt.Errorf("line %d: unknown field in auth: remove it, or correct its name", field.line)
		}
		if err := into(c.auth, field); err != nil {
			return err
		}
	}
	return nil
}

// readRegions reads the names of regions, each alone or in a mapping with its own settings.
func (c *cloud) readRegions(field cloudField) error {
	for _, item := range field.value.resolved().Content {
		region := cloudField{name: "regions", line: item.Line, value: cloudNode{item}}
		name, err := region.text()
		if err != nil {
			fields, isNotMapping := region.value.fields()
			named := fieldNamed(fields, "name")
			if isNotMapping != nil || named == nil {
				return fmt.Errorf("line %d: an entry of regions has no name", item.Line)
			}
			if name, err = named.text(); err != nil {
				return err
			}
			if len(fields) > 1 {
				c.ignored = append(c.ignored, "regions[].values")
			}
		}
		c.regions = append(c.regions, name)
	}
	return nil
}

func into(values map[string]cloudValue, field cloudField) error {
	text, err := field.text()
	if err == nil && text != "" {
		values[field.name] = cloudValue{text, field.line}
	}
	return err
}

// either returns the value of a field that has several names. Two of them that differ are a mistake.
func (c cloud) either(names ...string) (string, error) {
	found := ""
	for _, name := range names {
		value := c.auth[name]
		if found != "" && value.text != "" && value.text != found {
			return "", fmt.Errorf("line %d: auth.%s differs from auth.%s: remove one of them", value.line, name, names[0])
		}
		if value.text != "" {
			found = value.text
		}
	}
	return found, nil
}

// credentials checks an entry and reads the credentials.
func (c cloud) credentials(places CloudPlaces) (Credentials, error) {
	read := Credentials{
		AuthURL: strings.TrimSpace(c.auth["auth_url"].text), Region: c.top["region_name"].text,
		Interface: strings.TrimSuffix(c.top["interface"].text+c.top["endpoint_type"].text, "URL"),
		Username:  c.auth["username"].text, UserID: c.auth["user_id"].text, Password: c.auth["password"].text,
		UserDomainName: c.auth["user_domain_name"].text, UserDomainID: c.auth["user_domain_id"].text,
		ProjectDomainName: c.auth["project_domain_name"].text, ProjectDomainID: c.auth["project_domain_id"].text,
		ApplicationCredentialID: c.auth["application_credential_id"].text, ApplicationCredentialName: c.auth["application_credential_name"].text,
		ApplicationCredentialSecret: c.auth["application_credential_secret"].text, Ignored: strings.Join(slices.Compact(c.ignored), ", "),
	}
	var err error
	if read.ProjectID, err = c.either("project_id", "tenant_id"); err != nil {
		return read, err
	}
	if read.ProjectName, err = c.either("project_name", "tenant_name"); err != nil {
		return read, err
	}
	c.completeDomains(&read)
	if read.Region == "" && len(c.regions) == 1 {
		read.Region = c.regions[0]
	}
	for _, check := range []func(*Credentials, CloudPlaces) error{c.checkURL, c.checkTLS, c.checkTop, c.checkAuth} {
		if err := check(&read, places); err != nil {
			return read, err
		}
	}
	return read, nil
}

// completeDomains fills in the domains that are given for user and project together.
func (c cloud) completeDomains(read *Credentials) {
	for _, prefix := range []string{"domain", "default_domain"} {
		name, id := c.auth[prefix+"_name"].text, c.auth[prefix+"_id"].text
		if read.UserDomainName == "" && read.UserDomainID == "" && read.UserID == "" && read.ApplicationCredentialID == "" {
			read.UserDomainName, read.UserDomainID = name, id
		}
		if read.ProjectDomainName == "" && read.ProjectDomainID == "" && read.ProjectName != "" {
			read.ProjectDomainName, read.ProjectDomainID = name, id
		}
	}
}
