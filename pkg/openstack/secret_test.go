// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// keys are data of a Secret, changed by pairs of key and value; the value "-" removes the key.
func keys(pairs ...string) map[string][]byte {
	data := map[string][]byte{
		"openstack-auth-url": []byte("https://keystone.example/v3"), "openstack-username": []byte("u"), "openstack-password": []byte(secretWord),
		"openstack-domain-name": []byte("Default"), "openstack-project-id": []byte("p"), "tls-ca.pem": []byte("x"),
	}
	for i := 0; i < len(pairs); i += 2 {
		if data[pairs[i]] = []byte(pairs[i+1]); pairs[i+1] == "-" {
			delete(data, pairs[i])
		}
	}
	return data
}

// clouds returns a clouds.yaml with an entry "c" of these lines, and some other that is wrong.
func clouds(lines ...string) map[string][]byte {
	text := "clouds:\n  other: {nonsense: true}\n  c:\n    " + strings.Join(lines, "\n    ") + "\n"
	return map[string][]byte{"clouds.yaml": []byte(text), "cloud": []byte("c\n")}
}

const passwordAuth = "auth: {auth_url: 'https://k.example:5000', username: u, password: " + secretWord +
	", user_domain_name: Default, project_name: p, project_domain_id: default}"

func TestCredentialsOf(t *testing.T) {
	ca, err := os.ReadFile("testdata/ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	base := Credentials{AuthURL: "https://keystone.example/v3", Username: "u", Password: secretWord, UserDomainName: "Default", ProjectID: "p"}
	kubernikus := func(change func(*Credentials)) Credentials {
		c := base
		change(&c)
		return c
	}
	file := Credentials{AuthURL: "https://k.example:5000", Username: "u", Password: secretWord, UserDomainName: "Default", ProjectName: "p", ProjectDomainID: "default"}
	regional := file
	regional.Region, regional.Interface = "r1", "internal"
	common := "x-common: &common\n  auth_type: password\n  region_name: r0\nclouds:\n  one:\n    <<: *common\n    region_name: r1\n    interface: internal\n    " + passwordAuth + "\n"
	changed := func(change func(*Credentials)) Credentials {
		c := file
		change(&c)
		return c
	}
	userOnly := "auth: {auth_url: 'https://k.example:5000', username: u, password: " + secretWord + ", tenant_name: p, "
	application := Credentials{AuthURL: "https://k.example/v3", ApplicationCredentialID: "i", ApplicationCredentialSecret: secretWord}
	for name, c := range map[string]struct {
		data map[string][]byte
		want Credentials
	}{
		"kubernikus":             {keys(), base},
		"a line end in a key":    {keys("openstack-region", "r1\n"), kubernikus(func(c *Credentials) { c.Region = "r1" })},
		"a password with spaces": {keys("openstack-password", " x "), kubernikus(func(c *Credentials) { c.Password = " x " })},
		"project by name": {keys("openstack-project-id", "-", "openstack-project-name", "n", "openstack-project-domain-name", "d"),
			kubernikus(func(c *Credentials) { c.ProjectID, c.ProjectName, c.ProjectDomainName = "", "n", "d" })},
		"user domain by id":      {keys("openstack-domain-name", "-", "openstack-user-domain-id", "i"), kubernikus(func(c *Credentials) { c.UserDomainName, c.UserDomainID = "", "i" })},
		"own CA":                 {keys("cacert", string(ca)), kubernikus(func(c *Credentials) { c.CACert = string(ca) })},
		"clouds.yaml":            {clouds(passwordAuth), file},
		"region and interface":   {clouds(passwordAuth, "region_name: r1", "endpoint_type: internalURL", "identity_api_version: 3", "auth_type: password"), regional},
		"application credential": {clouds("auth_type: v3applicationcredential", "auth: {auth_url: 'https://k.example/v3', application_credential_id: i, application_credential_secret: "+secretWord+"}"), application},
		"what Cluster API writes": {with(clouds(passwordAuth, "cacert: /etc/certs/cacert", "verify: true"), "cacert", string(ca)),
			changed(func(c *Credentials) { c.CACert = string(ca) })},
		"a blank CA":                {with(clouds(passwordAuth, "cacert: ''"), "cacert", "\n"), file},
		"a CA inside":               {clouds(passwordAuth, "cacert: |", "  "+strings.ReplaceAll(string(ca), "\n", "\n      ")), changed(func(c *Credentials) { c.CACert = strings.TrimSpace(string(ca)) + "\n" })},
		"anchors":                   {map[string][]byte{"clouds.yaml": []byte(common)}, regional},
		"versions of APIs":          {clouds(passwordAuth, "volume_api_version: '3'", "image_api_version: 2", "api_timeout: 60", "profile: acme"), file},
		"unknown fields":            {clouds(passwordAuth, "nova_flavor: big", "colour: "+secretWord), changed(func(c *Credentials) { c.Ignored = "colour, nova_flavor" })},
		"a field without colon":     {clouds(passwordAuth, "? secret "+secretWord), changed(func(c *Credentials) { c.Ignored = "one in line 5" })},
		"one of regions":            {clouds(passwordAuth, "regions: [{name: r1}]"), changed(func(c *Credentials) { c.Region = "r1" })},
		"two regions":               {clouds(passwordAuth, "regions: [r1, r2]"), file},
		"a domain for both":         {clouds(userOnly + "domain_name: Default}"), changed(func(c *Credentials) { c.ProjectDomainName, c.ProjectDomainID = "Default", "" })},
		"a password of digits":      {clouds("auth: {auth_url: 'https://k.example:5000', username: u, password: 0123, user_domain_name: Default, project_name: p, project_domain_id: default}"), changed(func(c *Credentials) { c.Password = "0123" })},
		"no verification":           {clouds(passwordAuth, "verify: False"), changed(func(c *Credentials) { c.Insecure = true })},
		"the only cloud has a name": {map[string][]byte{"clouds.yaml": []byte("clouds: {one: {" + passwordAuth + "}}")}, file},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := CredentialsOf(c.data)
			if err != nil || got != c.want {
				t.Errorf("got %s, %v", dump(got), err)
			}
		})
	}
}

// dump shows all fields, past the type's own printing.
func dump(c Credentials) string {
	type plain Credentials
	return fmt.Sprintf("%+v", plain(c))
}

// with is data with another key.
func with(data map[string][]byte, key, value string) map[string][]byte {
	data[key] = []byte(value)
	return data
}

// bomb returns a clouds.yaml whose mappings double with each line.
func bomb() string {
	text := "a0: &a0 {x: y}\n"
	for i := range 20 {
		text += fmt.Sprintf("a%d: &a%d\n  <<: [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	return text + "clouds:\n  one:\n    <<: *a20\n"
}

func TestCredentialsOfRejects(t *testing.T) {
	ca, err := os.ReadFile("testdata/ca.pem")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data map[string][]byte
		want string
	}{
		"nothing":                      {nil, `neither key "clouds.yaml" nor key "openstack-auth-url"`},
		"both":                         {keys("clouds.yaml", "clouds: {}"), "remove one of them"},
		"a misspelled key":             {keys("openstack-pasword", secretWord), `"openstack-pasword"`},
		"no password":                  {keys("openstack-password", "-"), `no key "openstack-password"`},
		"no domain":                    {keys("openstack-domain-name", "-"), `no key "openstack-domain-name"`},
		"no project":                   {keys("openstack-project-id", "-"), `no key "openstack-project-id"`},
		"no project domain":            {keys("openstack-project-id", "-", "openstack-project-name", "n"), `no key "openstack-project-domain-name"`},
		"credentials in the URL":       {keys("openstack-auth-url", "https://u:"+secretWord+"@k.example/v3"), `key "openstack-auth-url" is not`},
		"not PEM":                      {keys("cacert", secretWord), `key "cacert"`},
		"not YAML":                     {map[string][]byte{"clouds.yaml": []byte("clouds: {c: {password: *" + secretWord + "}}")}, "is not YAML"},
		"a doubled field":              {clouds(passwordAuth, "verify: true", "verify: false"), `line 6: repeats the field of line 5`},
		"not a map":                    {map[string][]byte{"clouds.yaml": []byte(secretWord)}, "not made like"},
		"an unknown field of auth":     {clouds("auth:", "  auth_url: 'https://k.example'", "  pasword: "+secretWord), `line 6: unknown field in auth`},
		"a field of another type":      {clouds("auth: {auth_url: 'https://k.example', password: [" + secretWord + "]}"), "line 4: password is not a single value"},
		"a second document":            {map[string][]byte{"clouds.yaml": []byte("clouds: {one: {" + passwordAuth + "}}\n---\nclouds: {}\n")}, "a second YAML document"},
		"an empty file":                {map[string][]byte{"clouds.yaml": []byte("# nothing\n")}, "is empty"},
		"a bomb of anchors":            {map[string][]byte{"clouds.yaml": []byte(bomb())}, "merges more than 100 mappings"},
		"a mapping that merges itself": {map[string][]byte{"clouds.yaml": []byte("clouds: &c\n  <<: *c\n")}, "key \"clouds.yaml\":"},
		"two names of a project":       {clouds("auth: {auth_url: 'https://k.example', username: u, user_domain_name: d, password: p, project_name: a, tenant_name: b}"), "auth.tenant_name differs from auth.project_name"},
		"a profile alone":              {clouds("profile: vexxhost", "auth: {username: u}"), "line 4: the profile of a vendor is not read"},
		"a wrong URL":                  {clouds("auth:", "  auth_url: ftp://"+secretWord), "line 5: auth.auth_url is not"},
		"another region":               {clouds(passwordAuth, "region_name: c", "regions: [a, b]"), "line 5: region_name is not among regions"},
		"no such cloud":                {map[string][]byte{"clouds.yaml": []byte("clouds: {a: {}}"), "cloud": []byte("b")}, `key "cloud" names no cloud`},
		"several clouds":               {map[string][]byte{"clouds.yaml": []byte("clouds: {a: {}, b: {}}")}, `2 clouds: name one in key "cloud"`},
		"a path":                       {clouds(passwordAuth, "cacert: /etc/ssl/ca.pem"), `put the CA into key "cacert"`},
		"no verification, and a CA":    {with(clouds(passwordAuth, "verify: false"), "cacert", string(ca)), "there is a CA as well"},
		"odd verification":             {clouds(passwordAuth, "verify: maybe"), "line 5: verify must be true or false"},
		"version 2":                    {clouds(passwordAuth, "identity_api_version: '2.0'"), "identity_api_version must be 3"},
		"another auth type":            {clouds(passwordAuth, "auth_type: v3totp"), "auth_type must be"},
		"an application credential without a secret": {clouds("auth: {auth_url: 'https://k.example', application_credential_id: i}"), "no auth.application_credential_secret"},
		"an application credential and a password":   {clouds("auth: {auth_url: 'https://k.example', application_credential_id: i, application_credential_secret: s, password: " + secretWord + "}"), "has both an application credential and a password"},
		"no user": {clouds("auth: {auth_url: 'https://k.example', password: " + secretWord + "}"), "no auth.username"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := CredentialsOf(c.data)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secretWord) {
				t.Errorf("got %v, want %q in it and no value", err, c.want)
			}
		})
	}
}

func TestCredentialsPrintNoSecret(t *testing.T) {
	c := Credentials{AuthURL: "https://k.example/v3", Password: secretWord, ApplicationCredentialSecret: secretWord}
	encoded, err := json.Marshal(map[string]any{"c": c, "p": &c})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(c, &c), fmt.Sprintf("%v %+v %#v %s %q %d", c, c, c, c, c, c), string(encoded), fmt.Sprint(c.MarshalLog())} {
		if strings.Contains(text, secretWord) || !strings.Contains(text, "k.example") {
			t.Errorf("printed %s", text)
		}
	}
}
