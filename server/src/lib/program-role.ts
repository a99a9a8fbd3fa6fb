// The role as which the program uses the embedded PostgreSQL: owner of its database, no superuser.
export const programRole = 'carillon'
