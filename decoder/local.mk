# decoder
