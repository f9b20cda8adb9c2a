// Reveal is the one way out.
package fixture

import "fourfold/content"

var secret = content.New("secret")

var (
	_ string = secret                        // ERROR "cannot use secret"
	_        = string(secret)                // ERROR "cannot convert"
	_        = secret.reveal()               // ERROR "reveal undefined"
	_        = "the answer was " + secret    // ERROR "mismatched types"
	_        = secret == content.New("s")    // ERROR "cannot be compared|cannot compare"
	_        = map[content.Of[string]]bool{} // ERROR "invalid map key"
	_        = content.Of[string]{"secret"}  // ERROR "implicit assignment|cannot use"
	_        = content.Of[[]byte](secret)    // ERROR "cannot convert"
)
