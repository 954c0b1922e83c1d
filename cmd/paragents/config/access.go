package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"paragents/core"
)

// howToFind says, for each platform, what an id looks like and where a person finds it.
func howToFind(platform string) string {
	switch platform {
	case "slack":
		return "write slack:T…/U…: the member id is under ⋮, Copy member ID, in the person's profile, the team id in the address of Slack in a browser"
	case "discord":
		return "write discord: and digits: switch on Developer Mode, right-click the person, Copy User ID"
	case "telegram":
		return "write telegram: and the digits of the user id, or let the person write to the bot and run `paragents pair CODE` with the code in its answer"
	case "terminal":
		return "write terminal:user@host, as `id -un` and `hostname` say"
	}
	return "write telegram:123, discord:123, slack:T…/U… or terminal:user@host; or let the person write to the bot and run `paragents pair CODE` with the code in its answer"
}

const notAnID = " is not the id of a person, and names change hands"

// checkPerson says what is wrong with an entry of a list of people. Only ids are taken: names change hands.
func checkPerson(p core.Person) (wrong, hint string) {
	platform, id, ok := strings.Cut(string(p), ":")
	form := map[string]string{
		"slack":    `^[TE][A-Z0-9]+/[UW][A-Z0-9]+$`,
		"discord":  `^[0-9]{1,20}$`,
		"telegram": `^[1-9][0-9]{0,18}$`,
		"terminal": `^[^\s@]+@[^\s@]+$`,
	}[platform]
	switch {
	case !ok || form == "":
		return quote(string(p)) + notAnID, howToFind("")
	case id == "*", regexp.MustCompile(form).MatchString(id):
		return "", ""
	case platform == "telegram" && strings.HasPrefix(id, "-"):
		return quote(string(p)) + " is a chat, not a person", "name people here, and the chat under access.places"
	}
	return quote(string(p)) + notAnID, howToFind(platform)
}

// ParsePlace reads a key of access.places: "slack:T0AB/C0EF", "discord:GUILD/CHANNEL" or "telegram:CHAT". Names are refused.
func ParsePlace(key string) (core.Place, error) {
	platform, id, _ := strings.Cut(key, ":")
	form, hint := "", "write slack:T…/C…, discord:GUILD/CHANNEL or telegram:CHAT"
	switch platform {
	case "slack":
		form, hint = `^([TE][A-Z0-9]+)/([CDG][A-Z0-9]+)$`, "write slack:T…/C…: Copy link in the channel's menu has the C…, the address of Slack in a browser both"
	case "discord":
		form, hint = `^([0-9]{1,20})/([0-9]{1,20})$`, "write discord:GUILD/CHANNEL: switch on Developer Mode, right-click each, Copy ID"
	case "telegram":
		form, hint = `^()(-?[1-9][0-9]{0,18})$`, "write telegram: and the chat's number, which begins with - for groups"
	}
	match := regexp.MustCompile(form).FindStringSubmatch(id)
	if len(match) != 3 {
		return core.Place{}, &Problem{Text: quote(key) + " is not the id of a channel, and names change hands", Hint: hint}
	}
	return core.Place{Platform: platform, Space: match[1], Channel: match[2]}, nil
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

func (v *validation) access() {
	a := v.c.Access
	v.people("access", "everywhere", a.Admins, a.Approvers, a.Operators, a.Viewers)
	for _, key := range slices.Sorted(maps.Keys(a.Places)) {
		place := a.Places[key]
		path := entry("access.places", key)
		if _, err := ParsePlace(key); err != nil {
			v.fail(path, err.Error(), "") // its hint is in its text
		}
		if place.Workspace != "" && !v.hasWorkspace(place.Workspace) {
			v.fail(path+".workspace", quote(place.Workspace)+" is not a workspace", "name one of workspaces")
		}
		v.people(path, "in this place", place.Admins, place.Approvers, place.Operators, place.Viewers)
	}
	chat := v.c.Slack.BotToken.Reveal() + v.c.Discord.BotToken.Reveal() + v.c.Telegram.BotToken.Reveal()
	if chat != "" && len(a.Admins) == 0 {
		v.warn("access.admins", "is empty: nobody in a chat can give rights or store rules", "add your id, or redeem pairing codes with `paragents pair CODE`")
	}
}

func (v *validation) hasWorkspace(name string) bool {
	for _, w := range v.c.Workspaces {
		if w.Name == name {
			return true
		}
	}
	return false
}

// people checks the four lists of a section, and says loudly when one means everyone.
func (v *validation) people(section, where string, admins, approvers, operators, viewers []core.Person) {
	lists := []struct {
		name, may string
		people    []core.Person
	}{
		{"admins", "do EVERYTHING, also give rights,", admins},
		{"approvers", "approve what agents ask for", approvers},
		{"operators", "give agents work", operators},
		{"viewers", "see sessions", viewers},
	}
	for _, list := range lists {
		for i, p := range list.people {
			path := at(join(section, list.name), i)
			if wrong, hint := checkPerson(p); wrong != "" {
				v.fail(path, wrong, hint)
			} else if platform, all := strings.CutSuffix(string(p), ":*"); all {
				v.warn(path, fmt.Sprintf("EVERYONE on %s may %s %s", platform, list.may, where), "")
			}
		}
	}
}
