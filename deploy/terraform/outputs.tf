output "urls" {
  description = "The URL of each service."
  value       = local.urls
}

output "signing_key" {
  description = "The secret that holds the platform's own signing key."
  value       = google_secret_manager_secret.signing_key.secret_id
}

output "accounts" {
  description = "The account that each service runs as."
  value       = local.accounts
}

output "operator_environment" {
  description = "The shell variables for `aex` commands on a service's records and events."
  value = {
    for service in local.services : service => join("\n", [
      for name in ["AEX_STORE_URL", "AEX_BUS_URL", "AEX_BLOBS_URL"] :
      "export ${name}='${local.fixed_settings[service][name]}'"
    ])
  }
}
